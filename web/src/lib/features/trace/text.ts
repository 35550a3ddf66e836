import { inLanguage } from '$lib/languages/texts';

export const text = inLanguage('features/trace/text:text', {
  label: 'Steps',
  empty: 'No steps yet. Each step the agent takes appears here with its time.',
  main: 'Main agent',
  run: { started: 'Run started', completed: 'Run completed', waits: 'Waiting for you', stopped: 'Stopped' } as Record<string, string>,
  model: 'Wrote',
  tool: 'Used a tool',
  agent: 'Started a subagent',
  ask: 'Asked you',
  error: 'Error',
  note: 'Note',
  raw: 'Details',
});
