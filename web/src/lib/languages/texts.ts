/**
 * Texts, by their file and name, in the language of the page.
 *
 * The English words are part of the modules that show them. A translation is written over them, in
 * place, before the page is drawn; modules that are loaded later get it when they are evaluated. So
 * no module may keep words of its texts while it is evaluated (see `tests/languages.dom.spec.ts`).
 */
import type { Translation } from './translation';

/** Translated texts by id: `features/admin/text:text`. */
export type Catalogue = ReadonlyMap<string, object>;

/** What a glob over the files of one language found. */
export function catalogueOf(modules: Record<string, Record<string, object>>): Catalogue {
  const entries = Object.entries(modules).flatMap(([path, exported]) => {
    const file = path.replace(/^(\.\.\/)+/, '').replace(/\.[a-z]+\.ts$/, '');
    return Object.entries(exported).map(([name, words]) => [`${file}:${name}`, words] as const);
  });
  return new Map(entries);
}

const texts = new Map<string, object>();
let catalogue: Catalogue = new Map();

/** The English words, and their place in the catalogue of each other language. */
export function inLanguage<const T extends object>(id: string, english: T): Translation<T> {
  texts.set(id, english);
  write(id, english);
  return english as Translation<T>;
}

/** Show a language: everything that was loaded, and everything that will be. */
export function translate(translated: Catalogue): void {
  catalogue = translated;
  for (const [id, text] of texts) write(id, text);
}

function write(id: string, text: object): void {
  const words = catalogue.get(id);
  if (words) overwrite(text as Tree, words as Tree);
}

type Tree = Record<string, unknown>;

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null;

function overwrite(text: Tree, words: Tree): void {
  for (const [key, value] of Object.entries(words)) {
    const old = text[key];
    if (isTree(old) && isTree(value)) overwrite(old, value);
    else text[key] = value;
  }
}
