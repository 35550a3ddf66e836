/** Every text file has a translation in each language, with all its keys. The types check the rest. */
import { describe, expect, it } from 'vitest';
import { LANGUAGES, type Language } from '../src/lib/languages/languages';
import type { Catalogue } from '../src/lib/languages/texts';

type Fields = Record<string, unknown>;
const codes = (Object.keys(LANGUAGES) as Language[]).filter((language) => language !== 'en');
const english = import.meta.glob<Fields>('../src/lib/**/*text.ts', { eager: true });
const sources = import.meta.glob<string>(['../src/**/*.{ts,svelte}', '!../src/lib/languages/**', '!**/*.spec.ts'], {
  eager: true,
  query: '?raw',
  import: 'default',
});
const catalogues = import.meta.glob<{ default: Catalogue }>('../src/lib/languages/catalogues/language.*.ts', { eager: true });
const catalogueOf = (code: string) => catalogues[`../src/lib/languages/catalogues/language.${code}.ts`]!.default;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const idOf = (path: string, name: string) => `${path.replace('../src/lib/', '').replace(/\.ts$/, '')}:${name}`;

/** The English texts by id. */
const texts = new Map(
  Object.entries(english).flatMap(([path, exported]) =>
    Object.entries(exported).flatMap(([name, value]) => (isFields(value) ? [[idOf(path, name), value] as const] : [])),
  ),
);

/** Every text by its path; functions are named, not called. */
function leaves(value: unknown, path = ''): [string, unknown][] {
  if (!isFields(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path ? `${path} > ${key}` : key));
}

const pathsOf = (value: unknown) => leaves(value).map(([path]) => path).sort();

it('every text is known by its file and its name', () => {
  const known = Object.entries(sources).flatMap(([path, code]) =>
    [...code.matchAll(/(\w+) = inLanguage\('([^']+)'/g)].map(([, name, id]) => ({ id, expected: idOf(path, name!) })),
  );
  expect(known.filter(({ id, expected }) => id !== expected)).toEqual([]);
  expect(known.map(({ id }) => id).sort()).toEqual([...texts.keys()].sort());
});

/** Marks of English that a translation must not have. */
const foreign: Partial<Record<Language, RegExp>> = { de: /"|’|“[^„]*”| …|\s\s/, es: /“|”| …|\s\s/ };

describe.each(codes)('%s', (code) => {
  const catalogue = catalogueOf(code);

  it('has a translation of every text, and of nothing else', () => {
    expect([...catalogue.keys()].sort()).toEqual([...texts.keys()].sort());
  });

  it.each([...texts.keys()])('says all of %s, and nothing else', (id) => {
    expect(pathsOf(catalogue.get(id))).toEqual(pathsOf(texts.get(id)));
  });

  it.each([...texts.keys()])('leaves nothing of %s empty, nor with the marks of English', (id) => {
    const originals = new Map(leaves(texts.get(id)));
    for (const [key, text] of leaves(catalogue.get(id))) {
      if (typeof text !== 'string') continue;
      expect(text === '', key).toBe(originals.get(key) === '');
      expect(foreign[code]?.test(text) ?? false, `${key}: ${text}`).toBe(false);
    }
  });
});
