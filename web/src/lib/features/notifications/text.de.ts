import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

const hint =
  'Wenn ein Agent dich braucht oder fertig ist, während du woanders bist. Eine Benachrichtigung zeigt nie, was geschrieben wurde.';

export const text: Translation<typeof english> = {
  label: 'Benachrichtigungen',
  use: 'Benachrichtige mich',
  hints: {
    default: hint,
    granted: hint,
    denied: 'Dein Browser blockiert Benachrichtigungen dieser Seite. Du kannst sie in seinen Einstellungen für diese Website erlauben.',
    unsupported: 'Dieser Browser kann keine Benachrichtigungen anzeigen.',
  },
  push: {
    on: 'Du erfährst es auch, wenn diese Seite geschlossen ist.',
    failed: 'Dieser Browser konnte nicht angemeldet werden. Du erfährst es nur, solange diese Seite geöffnet ist.',
  },
  news: {
    waiting: 'Ein Agent braucht deine Antwort',
    done: 'Eine Antwort ist da',
    failed: 'Ein Lauf ist fehlgeschlagen',
  },
};
