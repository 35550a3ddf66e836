import { decimal, plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Borradores del agente',
  hint: 'Escritos por el agente para esta conversación y guardados en el servidor. Tus propios documentos se guardan aparte.',
  empty: 'Aún no hay borradores',
  back: 'Todos los borradores',
  download: 'Descargar',
  size: (characters) =>
    characters < 1000 ? plural(characters, 'carácter', 'caracteres') : `${decimal(characters / 1000)} mil caracteres`,
};
