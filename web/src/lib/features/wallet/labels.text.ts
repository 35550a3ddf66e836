/** Words that the page needs before the wallet is loaded. */
import { inLanguage } from '$lib/languages/texts';

export const labels = inLanguage('features/wallet/labels.text:labels', { wallet: 'Wallet', exhausted: 'needs a top-up to continue' });
