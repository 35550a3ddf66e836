/** The language of this page. It is set before anything is shown and changes with the next load. */
import type { Language } from './languages';

let current: { language: Language; locale: string } = { language: 'en', locale: 'en' };

export function setCurrent(language: Language, locale: string): void {
  current = { language, locale };
}

/** The locale of dates, numbers and lists. */
export const locale = () => current.locale;

export const language = () => current.language;
