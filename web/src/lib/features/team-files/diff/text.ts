export const diffText = {
  label: (path: string) => `Difference in ${path}`,
  added: 'added: ',
  removed: 'removed: ',
  counts: (added: number, removed: number) => `${added} added, ${removed} removed`,
  cut: 'Only the beginning is shown: the whole file is affected.',
  next: (count: number, left: number) => (count === left ? `Show the last ${count} lines` : `Show the next ${count} of ${left} lines`),
  readOn: 'Show the whole change before you approve it.',
  none: 'The text stays as it is.',
} as const;
