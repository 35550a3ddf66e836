import NotebookPen from '@lucide/svelte/icons/notebook-pen';
import type { Extension } from '$lib/extensions/types';
import { text } from './text';

export default {
  pages: [{ id: 'memory', label: () => text.label, icon: NotebookPen, order: 25, parent: 'settings', load: () => import('./MemoryPage.svelte') }],
} satisfies Extension;
