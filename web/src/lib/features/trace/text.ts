export const text = {
  label: 'Trace',
  empty: 'Each step of the agent is written down here, with its time.',
  main: 'main agent',
  run: { started: 'Run started', completed: 'Run completed', waits: 'Waits for you', stopped: 'Stopped' } as Record<string, string>,
  model: 'Thought and wrote',
  tool: 'Used',
  agent: 'Sent out a subagent',
  ask: 'Asked you',
  error: 'Went wrong',
  note: 'Noted',
  raw: 'In full',
} as const;
