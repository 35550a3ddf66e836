/** Which language a person reads: what they chose, or else the first of their browser's that there is. */
import { readStored, removeStored, writeStored } from '$lib/browser-storage';
import { languageOf, type Language } from './languages';

const KEY = 'bathysphere.language';

/** Some embedded browsers have none. */
const browserTags = (): readonly string[] => navigator.languages ?? [];

/** What was chosen in the settings; null for the browser's language. */
export function storedLanguage(): Language | null {
  return languageOf(readStored(KEY) ?? '');
}

export function storeLanguage(language: Language | null): void {
  if (language) writeStored(KEY, language);
  else removeStored(KEY);
}

export function browserLanguage(preferred: readonly string[] = browserTags()): Language {
  return preferred.map(languageOf).find((language) => language !== null) ?? 'en';
}

export function chosenLanguage(preferred?: readonly string[]): Language {
  return storedLanguage() ?? browserLanguage(preferred);
}

/** Dates and numbers follow the reader's region where it speaks the language: `en-GB`, not `en`. */
export function localeOf(language: Language, preferred: readonly string[] = browserTags()): string {
  return preferred.find((tag) => languageOf(tag) === language) ?? language;
}
