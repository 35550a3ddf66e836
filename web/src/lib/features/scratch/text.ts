import { plural } from '$lib/format';

export const text = {
  label: 'Agent’s drafts',
  hint: 'Written by the agent for this conversation and stored on the server. Your own documents are kept separately.',
  empty: 'No drafts yet',
  back: 'All drafts',
  download: 'Download',
  size: (characters: number) => (characters < 1000 ? plural(characters, 'character', 'characters') : `${(characters / 1000).toFixed(1)}k characters`),
} as const;
