import { plural } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';

export const followUpText = inLanguage('features/research/follow-up.text:followUpText', {
  sources: 'Sources',
  reports: 'Reports',
  answer: 'Verified quotes',
  open: 'Open',
  close: 'Close',
  none: 'No reports yet.',
  loading: 'Loading reports…',
  about: (when: string, claims: number, sources: number) =>
    `${when}: ${plural(claims, 'claim', 'claims')}, ${plural(sources, 'source', 'sources')}`,
  export: (number: number) => `Export report ${number}`,
  proof: 'Proof',
});
