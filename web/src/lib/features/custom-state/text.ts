import { inLanguage } from '$lib/languages/texts';

export const text = inLanguage('features/custom-state/text:text', {
  label: 'Agent state',
  hint: 'What this agent keeps for the conversation besides its messages, plan and files.',
});
