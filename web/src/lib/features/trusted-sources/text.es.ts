import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Fuentes de confianza',
  explanation: 'Los valores que contenían estas fuentes cuando decidiste confiar en ellas no necesitan aprobación para lo que pediste.',
  none: 'No confías en ninguna fuente en esta conversación.',
  stop: 'Dejar de confiar',
  stopLabel: (name) => `Dejar de confiar en ${name}`,
  stopped: (name) => `Ya no confías en ${name}.`,
};
