import { moment, plural } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';

export const text = inLanguage('features/memory/text:text', {
  label: 'Memory',
  use: 'Let agents remember',
  hint: 'Agents keep short notes about you and read them in every conversation. The notes go to the model with each message. Other people can’t see them.',
  off: 'Memory is off on this server. You can still read and delete your notes.',
  paused: 'While this is off, agents neither see nor write notes.',
  notes: (count: number, most: number) => `${plural(count, 'note', 'notes')} of ${most}`,
  empty: 'No notes yet. Agents write one when you ask them to remember something.',
  by: { agent: 'Written by an agent', person: 'Written by you' },
  when: (date: string | null) => (date ? moment(date) : ''),
  edit: (name: string) => `Edit ${name}`,
  remove: (name: string) => `Delete ${name}`,
  note: (name: string) => `Text of ${name}`,
  save: 'Save',
  cancel: 'Cancel',
  left: (count: number) => `${plural(count, 'character', 'characters')} left`,
  over: (count: number) => `${plural(count, 'character', 'characters')} too many`,
  deleted: (name: string) => `Deleted ${name}`,
  loading: 'Loading…',
  retry: 'Try again',
});
