import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  export: 'Exportieren',
  markdown: 'Markdown',
  markdownHint: 'Das Gesagte, für Notizen und andere Editoren',
  json: 'JSON',
  jsonHint: 'Das Gesagte, für Programme',
  pdf: 'Drucken oder als PDF sichern',
  pdfHint: 'Öffnet den Druckdialog deines Browsers',
  empty: 'Es gibt noch nichts zu exportieren.',
  tooLong: 'Diese Unterhaltung ist zu lang, um sie in eine Datei zu exportieren.',
  you: 'Du',
  agent: 'Agent',
  exported: (title, date) => `${title}, exportiert am ${date}`,
  share: 'Teilen',
  shareHint: 'Erstellt eine schreibgeschützte Kopie dieser Unterhaltung in ihrem jetzigen Stand. Alle, die den Link haben, können sie lesen. Deine Dokumente und Dateien gehören nicht dazu.',
  local: 'Dieser Server ist nur von diesem Rechner aus erreichbar, deshalb funktioniert der Link nur hier.',
  expires: 'Läuft ab nach',
  days: (n) => plural(n, 'Tag', 'Tagen'),
  create: 'Link erstellen',
  copy: 'Link kopieren',
  copied: 'Link kopiert',
  open: 'Link öffnen',
  revoke: 'Widerrufen',
  revoked: 'Link widerrufen',
  links: 'Aktive Links',
  until: (date, messages) => `${plural(messages, 'Nachricht', 'Nachrichten')}, bis ${date}`,
  failed: 'Etwas ist schiefgegangen. Versuche es noch einmal.',
};
