import type { Translation } from '$lib/languages/translation';
import type { flowText as english } from './flow-text';

/** A noun is always a subject, and a place follows a colon, so that both stay in the nominative. */
export const flowText: Translation<typeof english> = {
  whole: {
    unplanned: 'Deine Bitte hat das nicht klar verlangt, und der Agent hat seitdem Text von anderen gelesen.',
    used_up: 'Darum hast du einmal gebeten, und es ist schon erledigt.',
    secret: 'Der Agent hat etwas Privates gelesen, das deine Bitte nicht verlangt hat, und würde hiermit etwas nach außen senden.',
  },
  sent: 'das würde nach außen gesendet, nachdem der Agent etwas Privates gelesen hat.',
  read: (noun, place) => `${noun} stammt aus einer Quelle: ${place}. Du hast das nicht erwähnt.`,
  readAndSaid: (noun, place) => `${noun} stammt aus einer Quelle: ${place}. Du hast das erwähnt, aber nicht hierfür.`,
  said: (noun) => `${noun} wurde von dir erwähnt, aber nicht hierfür.`,
  nowhere: (noun) => `${noun} steht in nichts, was der Agent gelesen hat, und wurde von dir nicht erwähnt.`,
  nouns: {
    who: 'dieser Empfänger',
    where: 'diese Adresse',
    what: 'dieser Name',
    amount: 'dieser Betrag',
    secret: 'dieses Geheimnis',
    text: 'diese Adresse im Text',
    inside: 'diese Adresse im Namen',
  },
  kind: (kind) => `diese Angabe („${kind}“)`,
  argument: (name) => `dieser Wert für „${name}“`,
  line: (place, line) => `${place}, Zeile ${line}`,
  document: (title) => `dein Dokument ${title}`,
  places: {
    '': (about) => `Anhang ${about}`,
    fetch_page: (about) => `Webseite ${about}`,
    web_search: (about) => `Websuche nach ${about}`,
    read_file: (about) => `Datei ${about}`,
    task: () => 'Bericht eines Unteragenten',
  },
  result: (tool, about) => `Ergebnis von „${tool}“${about ? ` (${about})` : ''}`,
  trust: (source) => `In dieser Unterhaltung vertrauen: ${source}`,
  trustLabel: 'Quellen, denen du vertraust',
  trustHint:
    'Für das, worum du gebeten hast, darf der Agent dann Werte aus der Quelle in ihrem jetzigen Stand ohne Rückfrage nutzen. Du kannst ihr das Vertrauen jederzeit entziehen.',
  label: 'Warum du gefragt wirst',
  passage: 'Passage anzeigen',
  showAll: 'Alles anzeigen',
  openDocument: 'Dokument öffnen',
  changed: 'Das Dokument wurde seitdem geändert; diese Worte stehen nicht mehr darin.',
  deleted: 'Dieses Dokument wurde in diesem Browser gelöscht.',
  missing: 'Dieses Dokument ist nicht in diesem Browser.',
};
