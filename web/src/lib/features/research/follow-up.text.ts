import { plural } from '$lib/format';

export const followUpText = {
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
} as const;
