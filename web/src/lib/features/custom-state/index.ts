import Braces from '@lucide/svelte/icons/braces';
import type { Extension } from '$lib/extensions/types';
import { customFields } from './fields';
import { text } from './text';

export default {
  panels: [
    {
      id: 'state',
      label: () => text.label,
      icon: Braces,
      tab: 'work',
      order: 48,
      load: () => import('./StatePanel.svelte'),
      isShown: ({ agents, agent, conversation }) => !agents.isBuiltIn(agent) && Object.keys(customFields(conversation.values)).length > 0,
    },
  ],
} satisfies Extension;
