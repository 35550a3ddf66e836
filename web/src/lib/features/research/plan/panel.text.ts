import { inLanguage } from '$lib/languages/texts';

export const text = inLanguage('features/research/plan/panel.text:text', {
  label: 'Plan',
  empty: 'No plan yet',
  todos: 'To do',
  done: (done: number, all: number) => `${done} of ${all} done`,
  status: { pending: 'to do', in_progress: 'in progress', completed: 'done' } as Record<string, string>,
  research: 'Research plan',
  agents: 'Active agents',
});
