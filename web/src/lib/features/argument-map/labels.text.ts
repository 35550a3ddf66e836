/** What the panel's tab shows; all other words are loaded with the map. */
import { inLanguage } from '$lib/languages/texts';

export const labels = inLanguage('features/argument-map/labels.text:labels', { map: 'Map' });
