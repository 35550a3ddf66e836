/** What went wrong with a document, in words for the person. */
import { number } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';

export const errorText = inLanguage('features/documents/store/errors.text:errorText', {
  tooLarge: (name: string, bytes: number) => `${name} is larger than ${number(bytes / 1_000_000)} MB.`,
  otherType: (name: string) => `${name} can’t be read here. Use text, Markdown, PDF or DOCX.`,
  noText: (name: string) => `${name} is not a text file.`,
  empty: (name: string) => `${name} contains no text. Scanned pages are images.`,
  tooLong: (name: string, characters: number) => `${name} has more than ${number(characters)} characters.`,
  unreadable: (name: string, reason: string) => `${name} could not be read: ${reason}`,
  unreadableDocx: (name: string) => `${name} could not be read as DOCX.`,
  unpacked: (name: string, bytes: number) => `${name} unpacks to more than ${number(bytes / 1_000_000)} MB.`,
  noProjectName: 'A project needs a name.',
  noProject: 'This project no longer exists.',
  longText: (characters: number) => `This text is longer than ${number(characters)} characters.`,
  newerBackup: 'This backup was made by a newer version of the app.',
  noBackup: 'This is not a Bathysphere backup.',
  damagedBackup: 'The backup is damaged. Nothing was imported.',
});
