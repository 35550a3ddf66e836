import { decimal, plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Entwürfe des Agenten',
  hint: 'Vom Agenten für diese Unterhaltung geschrieben und auf dem Server gespeichert. Deine eigenen Dokumente liegen getrennt davon.',
  empty: 'Noch keine Entwürfe',
  back: 'Alle Entwürfe',
  download: 'Herunterladen',
  size: (characters) =>
    characters < 1000 ? plural(characters, 'Zeichen', 'Zeichen') : `${decimal(characters / 1000)}\u00a0Tsd. Zeichen`,
};
