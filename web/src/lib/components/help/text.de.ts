import type { Translation } from '$lib/languages/translation';
import type { helpText as english } from './text';

export const helpText: Translation<typeof english> = {
  begin: 'Neue Unterhaltung beginnen',
  search: 'Unterhaltungen durchsuchen',
  write: 'Nachricht schreiben',
  send: 'Nachricht senden',
  line: 'Neue Zeile einfügen',
  stop: 'Agenten anhalten',
  sidebar: 'Unterhaltungen ein- oder ausblenden',
  panels: 'Bereiche ein- oder ausblenden',
  requests: 'Zwischen offenen Anfragen wechseln',
  choose: 'Antwort auf eine Frage wählen',
  help: 'Diese Liste anzeigen',
};
