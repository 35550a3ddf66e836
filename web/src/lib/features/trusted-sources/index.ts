import ShieldCheck from '@lucide/svelte/icons/shield-check';
import type { Extension } from '$lib/extensions/types';
import { text } from './text';
import { trustedSources } from './trusts';

export default {
  panels: [
    {
      id: 'trusted-sources',
      label: () => text.label,
      icon: ShieldCheck,
      tab: 'work',
      order: 48,
      load: () => import('./TrustedSources.svelte'),
      badge: ({ conversation }) => trustedSources(conversation.values).length,
      isShown: ({ conversation }) => trustedSources(conversation.values, { withRevoked: true }).length > 0,
    },
  ],
} satisfies Extension;
