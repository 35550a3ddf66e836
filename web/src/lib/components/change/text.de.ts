import type { Translation } from '$lib/languages/translation';
import type { changeText as english } from './text';

export const changeText: Translation<typeof english> = {
  added: 'hinzugefügt: ',
  label: 'Änderung',
  removed: 'entfernt: ',
};
