import { number } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { errorText as english } from './errors.text';

export const errorText: Translation<typeof english> = {
  tooLarge: (name, bytes) => `${name} ist größer als ${number(bytes / 1_000_000)} MB.`,
  otherType: (name) => `${name} kann hier nicht gelesen werden. Möglich sind Text, Markdown, PDF und DOCX.`,
  noText: (name) => `${name} ist keine Textdatei.`,
  empty: (name) => `${name} enthält keinen Text. Gescannte Seiten sind Bilder.`,
  tooLong: (name, characters) => `${name} hat mehr als ${number(characters)} Zeichen.`,
  unreadable: (name, reason) => `${name} konnte nicht gelesen werden: ${reason}`,
  unreadableDocx: (name) => `${name} konnte nicht als DOCX gelesen werden.`,
  unpacked: (name, bytes) => `${name} ist entpackt größer als ${number(bytes / 1_000_000)} MB.`,
  noProjectName: 'Ein Projekt braucht einen Namen.',
  noProject: 'Dieses Projekt gibt es nicht mehr.',
  longText: (characters) => `Dieser Text hat mehr als ${number(characters)} Zeichen.`,
  newerBackup: 'Dieses Backup stammt von einer neueren Version der App.',
  noBackup: 'Das ist kein Backup von Bathysphere.',
  damagedBackup: 'Das Backup ist beschädigt. Es wurde nichts importiert.',
};
