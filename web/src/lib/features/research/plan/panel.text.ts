export const text = {
  label: 'Plan',
  empty: 'No plan yet',
  todos: 'To do',
  done: (done: number, all: number) => `${done} of ${all} done`,
  status: { pending: 'to do', in_progress: 'in progress', completed: 'done' } as Record<string, string>,
  research: 'Research plan',
  agents: 'Active agents',
} as const;
