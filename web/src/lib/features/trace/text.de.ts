import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Schritte',
  empty: 'Noch keine Schritte. Jeder Schritt des Agenten erscheint hier mit seiner Uhrzeit.',
  main: 'Hauptagent',
  run: { started: 'Lauf begonnen', completed: 'Lauf abgeschlossen', waits: 'Wartet auf dich', stopped: 'Angehalten' },
  model: 'Hat geschrieben',
  tool: 'Hat ein Werkzeug benutzt',
  agent: 'Hat einen Unteragenten gestartet',
  ask: 'Hat dich gefragt',
  error: 'Fehler',
  note: 'Hinweis',
  raw: 'Details',
};
