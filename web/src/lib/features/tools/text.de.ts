import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Werkzeuge',
  hint: 'Agenten können die Werkzeuge dieser MCP-Server nutzen. Der Betreiber wählt die Server aus.',
  none: 'Hier sind keine MCP-Server eingerichtet.',
  loading: 'Verbindung zu den Servern wird aufgebaut…',
  refresh: 'Aktualisieren',
  states: { ready: 'Verbunden', connecting: 'Verbindet', failed: 'Nicht erreichbar', idle: 'Nicht verbunden' },
  count: (count) => plural(count, 'Werkzeug', 'Werkzeuge'),
  leftOut: (count) => `${plural(count, 'Werkzeug', 'Werkzeuge')} ausgelassen: zu groß`,
  asks: 'Fragt vorher',
  reads: 'Liest nur',
  allowed: 'In dieser Unterhaltung immer erlaubt',
  askAgain: 'Wieder fragen',
  askAgainLabel: (name) => `Vor ${name} wieder fragen`,
  revoked: (name) => `${name} braucht wieder deine Freigabe.`,
};
