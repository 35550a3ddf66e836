import Download from '@lucide/svelte/icons/download';
import Share2 from '@lucide/svelte/icons/share-2';
import type { Extension } from '$lib/extensions/types';
import { text } from './text';

export default {
  threadActions: [
    { id: 'share', label: () => text.share, icon: Share2, order: 10, load: () => import('./SharePanel.svelte') },
    { id: 'export', label: () => text.export, icon: Download, order: 20, load: () => import('./ExportMenu.svelte') },
  ],
} satisfies Extension;
