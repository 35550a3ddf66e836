export const text = {
  label: 'Files',
  title: 'The agent’s own files',
  hint: 'Written by the agent for this conversation, on the server. Your documents are not here.',
  empty: 'What the agent writes down for itself is here.',
  back: 'All files',
  download: 'Download',
  size: (characters: number) => (characters < 1000 ? `${characters} characters` : `${(characters / 1000).toFixed(1)}k characters`),
} as const;
