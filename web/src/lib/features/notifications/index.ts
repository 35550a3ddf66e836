import type { Extension } from '$lib/extensions/types';
import { text } from './text';
import { watch } from './watch.svelte';

export default {
  start: watch,
  settings: [{ id: 'notifications', title: text.label, order: 20, load: () => import('./NotificationSettings.svelte') }],
} satisfies Extension;
