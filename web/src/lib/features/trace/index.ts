import Activity from '@lucide/svelte/icons/activity';
import type { Extension } from '$lib/extensions/types';
import { text } from './text';

export default {
  panels: [
    {
      id: 'trace',
      label: () => text.label,
      icon: Activity,
      tab: 'work',
      order: 50,
      isFolded: true,
      load: () => import('./TracePanel.svelte'),
    },
  ],
} satisfies Extension;
