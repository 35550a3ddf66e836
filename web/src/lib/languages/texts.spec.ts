import { afterEach, expect, it } from 'vitest';
import { inLanguage, translate } from './texts';

afterEach(() => translate(new Map()));

it('is English until a language is shown', () => {
  expect(inLanguage('a:text', { title: 'Title' }).title).toBe('Title');
});

it('writes a language over what was loaded, where nested words are kept by reference', () => {
  const text = inLanguage('b:text', { title: 'Title', inner: { count: (n: number) => `${n} things`, steps: ['one', 'two'] } });
  const { inner } = text;
  translate(new Map([['b:text', { title: 'Titel', inner: { count: (n: number) => `${n} Dinge`, steps: ['eins', 'zwei'] } }]]));
  expect([text.title, inner.count(2), ...inner.steps]).toEqual(['Titel', '2 Dinge', 'eins', 'zwei']);
});

it('writes it over what is loaded later', () => {
  translate(new Map([['c:text', { title: 'Titel' }]]));
  expect(inLanguage('c:text', { title: 'Title', only: 'English' })).toEqual({ title: 'Titel', only: 'English' });
});
