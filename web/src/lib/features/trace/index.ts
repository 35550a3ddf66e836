import Activity from '@lucide/svelte/icons/activity';
import type { Extension } from '$lib/extensions/types';
import { text } from './text';

export default {
  panels: [{ id: 'trace', label: text.label, icon: Activity, order: 50, load: () => import('./TracePanel.svelte') }],
} satisfies Extension;
