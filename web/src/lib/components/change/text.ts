import { inLanguage } from '$lib/languages/texts';

export const changeText = inLanguage('components/change/text:changeText', {
  added: 'added: ',
  label: 'Change',
  removed: 'removed: ',
});
