export const text = {
  label: 'Plan',
  empty: 'When the agent works in steps, its list of things to do is here.',
  todos: 'To do',
  done: (done: number, all: number) => `${done} of ${all} done`,
  status: { pending: 'to do', in_progress: 'in progress', completed: 'done' } as Record<string, string>,
  research: 'Research plan',
  agents: 'Agents at work',
} as const;
