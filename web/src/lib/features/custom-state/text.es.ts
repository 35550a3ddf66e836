import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Estado del agente',
  hint: 'Lo que este agente guarda para la conversación además de sus mensajes, su plan y sus archivos.',
};
