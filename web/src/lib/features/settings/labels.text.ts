/** What the menu shows; all other words are loaded with the page. */
import { inLanguage } from '$lib/languages/texts';

export const labels = inLanguage('features/settings/labels.text:labels', { settings: 'Settings' });
