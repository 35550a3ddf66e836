import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { followUpText as english } from './follow-up.text';

export const followUpText: Translation<typeof english> = {
  sources: 'Quellen',
  reports: 'Berichte',
  answer: 'Geprüfte Zitate',
  open: 'Öffnen',
  close: 'Schließen',
  none: 'Noch keine Berichte.',
  loading: 'Berichte werden geladen…',
  about: (when, claims, sources) => `${when}: ${plural(claims, 'Aussage', 'Aussagen')}, ${plural(sources, 'Quelle', 'Quellen')}`,
  export: (number) => `Bericht ${number} exportieren`,
  proof: 'Nachweis',
};
