export const diffText = {
  label: (path: string) => `Difference in ${path}`,
  added: 'added: ',
  removed: 'removed: ',
  counts: (added: number, removed: number) => `${added} added, ${removed} removed`,
  cut: 'The difference is longer than what can be shown here.',
  none: 'The text stays as it is.',
} as const;
