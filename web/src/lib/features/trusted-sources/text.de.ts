import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Vertraute Quellen',
  explanation:
    'Werte, die in diesen Quellen standen, als du ihnen vertraut hast, brauchen keine Freigabe, wenn es um deine Bitte geht.',
  none: 'Du vertraust in dieser Unterhaltung keiner Quelle.',
  stop: 'Vertrauen entziehen',
  stopLabel: (name) => `Vertrauen entziehen: ${name}`,
  stopped: (name) => `Nicht mehr vertraut: ${name}.`,
};
