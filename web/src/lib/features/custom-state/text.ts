export const text = {
  label: 'Agent state',
  hint: 'What this agent keeps for the conversation besides its messages, plan and files.',
} as const;
