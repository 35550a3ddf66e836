import ShieldCheck from '@lucide/svelte/icons/shield-check';
import type { Extension } from '$lib/extensions/types';
import { labels } from './labels.text';

export default {
  pages: [
    {
      id: 'administration',
      label: () => labels.admin,
      icon: ShieldCheck,
      order: 95,
      load: () => import('./AdminPage.svelte'),
      isShown: ({ session }) => session.me?.isAdmin ?? false,
    },
  ],
} satisfies Extension;
