import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { diffText as english } from './text';

export const diffText: Translation<typeof english> = {
  label: (path) => `Änderungen an ${path}`,
  counts: (added, removed) => `${added} hinzugefügt, ${removed} entfernt`,
  cut: 'Nur der Anfang wird gezeigt. Die Änderung betrifft die ganze Datei.',
  next: (count, left) => {
    if (count < left) return `Die nächsten ${count} von ${left} Zeilen anzeigen`;
    return count === 1 ? 'Die letzte Zeile anzeigen' : `Die letzten ${plural(count, 'Zeile', 'Zeilen')} anzeigen`;
  },
  readOn: 'Sieh dir die ganze Änderung an, bevor du sie freigibst.',
  none: 'Der Text ist unverändert.',
};
