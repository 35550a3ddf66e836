/** The words that the page needs before this part is loaded. */
import { inLanguage } from '$lib/languages/texts';

export const labels = inLanguage('features/documents/labels.text:labels', { documents: 'My documents' });
