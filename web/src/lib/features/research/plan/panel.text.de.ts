import type { Translation } from '$lib/languages/translation';
import type { text as english } from './panel.text';

export const text: Translation<typeof english> = {
  label: 'Plan',
  empty: 'Noch kein Plan',
  todos: 'Aufgaben',
  done: (done, all) => `${done} von ${all} erledigt`,
  status: { pending: 'offen', in_progress: 'in Arbeit', completed: 'erledigt' },
  research: 'Rechercheplan',
  agents: 'Aktive Agenten',
};
