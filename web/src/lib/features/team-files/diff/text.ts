import { plural } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';

export const diffText = inLanguage('features/team-files/diff/text:diffText', {
  label: (path: string) => `Changes to ${path}`,
  counts: (added: number, removed: number) => `${added} added, ${removed} removed`,
  cut: 'Only the beginning is shown. The change affects the whole file.',
  next: (count: number, left: number) => (count === left ? `Show the last ${plural(count, 'line', 'lines')}` : `Show the next ${count} of ${left} lines`),
  readOn: 'Show the whole change before you approve it.',
  none: 'The text is unchanged.',
});
