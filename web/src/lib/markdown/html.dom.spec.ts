import { expect, it } from 'vitest';
import { render } from './html';

it('shows the host of a foreign link beside words that do not name it', () => {
  expect(render('[details](https://evil.example/?d=1)')).toContain('<span class="host">evil.example</span>');
  expect(render('<https://example.org/a>')).not.toContain('class="host"');
});

it('does not link to conversations: an id that a model wrote could be anybody’s', () => {
  expect(render('[go on](/c/0000)')).not.toContain('href');
});

it('keeps the text of a hidden direction mark visible in a link', () => {
  expect(render('[a\u202eb](https://example.org)')).toContain('⟨U+202E⟩');
});
