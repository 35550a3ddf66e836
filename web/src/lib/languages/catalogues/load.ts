/** Loading a language: English is in the page, each other one is a file of its own. */
import { chosenLanguage, localeOf } from '../choice';
import { setCurrent } from '../current';
import { LANGUAGES, type Language } from '../languages';
import { translate, type Catalogue } from '../texts';

const catalogues: Record<Exclude<Language, 'en'>, () => Promise<{ default: Catalogue }>> = {
  de: () => import('./language.de'),
  es: () => import('./language.es'),
};

/** Show the page in the reader's language; in English where its file cannot be loaded. */
export async function loadLanguage(): Promise<void> {
  const language = chosenLanguage();
  try {
    if (language !== 'en') translate((await catalogues[language]()).default);
    show(language);
  } catch {
    show('en');
  }
}

function show(language: Language): void {
  setCurrent(language, localeOf(language));
  document.documentElement.lang = language;
  document.documentElement.dir = LANGUAGES[language].direction;
}
