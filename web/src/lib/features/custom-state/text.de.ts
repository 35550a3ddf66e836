import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Zustand des Agenten',
  hint: 'Was dieser Agent für die Unterhaltung außer Nachrichten, Plan und Dateien aufbewahrt.',
};
