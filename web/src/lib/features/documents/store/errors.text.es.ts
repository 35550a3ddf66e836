import { number } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { errorText as english } from './errors.text';

export const errorText: Translation<typeof english> = {
  tooLarge: (name, bytes) => `${name} ocupa más de ${number(bytes / 1_000_000)} MB.`,
  otherType: (name) => `${name} no se puede leer aquí. Usa texto, Markdown, PDF o DOCX.`,
  noText: (name) => `${name} no es un archivo de texto.`,
  empty: (name) => `${name} no contiene texto. Las páginas escaneadas son imágenes.`,
  tooLong: (name, characters) => `${name} tiene más de ${number(characters)} caracteres.`,
  unreadable: (name, reason) => `No se ha podido leer ${name}: ${reason}`,
  unreadableDocx: (name) => `No se ha podido leer ${name} como DOCX.`,
  unpacked: (name, bytes) => `${name} ocupa más de ${number(bytes / 1_000_000)} MB al descomprimirse.`,
  noProjectName: 'Un proyecto necesita un nombre.',
  noProject: 'Este proyecto ya no existe.',
  longText: (characters) => `Este texto tiene más de ${number(characters)} caracteres.`,
  newerBackup: 'Esta copia se hizo con una versión más reciente de la aplicación.',
  noBackup: 'Esto no es una copia de seguridad de Bathysphere.',
  damagedBackup: 'La copia está dañada. No se ha importado nada.',
};
