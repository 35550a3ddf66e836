/** The languages of the workspace, by the names their readers know. */
export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr' },
  de: { name: 'Deutsch', direction: 'ltr' },
  es: { name: 'Español', direction: 'ltr' },
} as const satisfies Record<string, { name: string; direction: 'ltr' | 'rtl' }>;

export type Language = keyof typeof LANGUAGES;

/** A language that the workspace has, by its code or one of its regions: `de` for `de-AT`. */
export function languageOf(tag: string): Language | null {
  const code = tag.split('-')[0]!.toLowerCase();
  return Object.hasOwn(LANGUAGES, code) ? (code as Language) : null;
}
