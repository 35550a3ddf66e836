import Plug from '@lucide/svelte/icons/plug';
import type { Extension } from '$lib/extensions/types';
import { allowedTools } from './api';
import { text } from './text';

const PAGE = 'tools';

export default {
  panels: [
    {
      id: PAGE,
      label: () => text.label,
      icon: Plug,
      tab: 'work',
      order: 47,
      load: () => import('./ToolsView.svelte'),
      badge: ({ conversation }) => allowedTools(conversation.values).length,
      isShown: ({ conversation }) => 'mcp_free' in conversation.values,
    },
  ],
  pages: [{ id: PAGE, label: () => text.label, icon: Plug, order: 30, parent: 'settings', load: () => import('./ToolsPage.svelte') }],
} satisfies Extension;
