import { decimal, plural } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';

export const text = inLanguage('features/scratch/text:text', {
  label: 'Agent’s drafts',
  hint: 'Written by the agent for this conversation and stored on the server. Your own documents are kept separately.',
  empty: 'No drafts yet',
  back: 'All drafts',
  download: 'Download',
  size: (characters: number) => (characters < 1000 ? plural(characters, 'character', 'characters') : `${decimal(characters / 1000)}k characters`),
});
