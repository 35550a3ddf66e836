export const text = {
  label: 'Plan',
  empty: 'When the agent works in steps, its list of things to do is here.',
} as const;
