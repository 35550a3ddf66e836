import type { Translation } from '$lib/languages/translation';
import type { text as english } from './panel.text';

export const text: Translation<typeof english> = {
  label: 'Plan',
  empty: 'Aún no hay plan',
  todos: 'Tareas',
  done: (done, all) => `${done} de ${all} hechas`,
  status: { pending: 'por hacer', in_progress: 'en curso', completed: 'hecha' },
  research: 'Plan de investigación',
  agents: 'Agentes activos',
};
