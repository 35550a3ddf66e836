import { moment, plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Gedächtnis',
  use: 'Agenten dürfen sich etwas merken',
  hint: 'Agenten führen kurze Notizen über dich und lesen sie in jeder Unterhaltung. Die Notizen gehen mit jeder Nachricht an das Modell. Andere Personen können sie nicht sehen.',
  off: 'Auf diesem Server ist das Gedächtnis ausgeschaltet. Du kannst deine Notizen weiterhin lesen und löschen.',
  paused: 'Solange das ausgeschaltet ist, sehen und schreiben Agenten keine Notizen.',
  notes: (count, most) => `${plural(count, 'Notiz', 'Notizen')} von höchstens ${most}`,
  empty: 'Noch keine Notizen. Agenten schreiben eine, wenn du sie bittest, sich etwas zu merken.',
  by: { agent: 'Von einem Agenten geschrieben', person: 'Von dir geschrieben' },
  when: (date) => (date ? moment(date) : ''),
  edit: (name) => `${name} bearbeiten`,
  remove: (name) => `${name} löschen`,
  note: (name) => `Text von ${name}`,
  save: 'Speichern',
  cancel: 'Abbrechen',
  left: (count) => `Noch ${plural(count, 'Zeichen', 'Zeichen')} frei`,
  over: (count) => `${plural(count, 'Zeichen', 'Zeichen')} zu viel`,
  deleted: (name) => `${name} gelöscht`,
  loading: 'Wird geladen…',
  retry: 'Noch einmal versuchen',
};
