import { plural } from '$lib/format';

export const text = {
  label: 'Files',
  title: 'Agent files',
  hint: 'Written by the agent for this conversation and stored on the server. Your own documents are kept separately.',
  empty: 'No files yet',
  back: 'All files',
  download: 'Download',
  size: (characters: number) => (characters < 1000 ? plural(characters, 'character', 'characters') : `${(characters / 1000).toFixed(1)}k characters`),
} as const;
