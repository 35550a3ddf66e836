import Wallet from '@lucide/svelte/icons/wallet';
import type { Extension } from '$lib/extensions/types';
import { labels } from './labels.text';
import { payments } from './payments.svelte';

const isShown = () => payments.purse !== null;

/** Everything here is shown only where the server says that use is paid for. */
export default {
  pages: [{ id: 'wallet', label: () => labels.wallet, icon: Wallet, order: 30, load: () => import('./WalletPage.svelte'), isShown }],
  lines: [{ id: 'payments', order: 10, load: () => import('./PayLine.svelte'), isShown }],
  requests: [
    {
      type: 'payment_exhausted',
      load: () => import('./ExhaustedCard.svelte'),
      icon: Wallet,
      headline: () => labels.exhausted,
    },
  ],
  backup: () => import('./backup'),
  start: (workspace) => payments.start(workspace),
} satisfies Extension;
