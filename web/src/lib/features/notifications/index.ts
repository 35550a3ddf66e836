import type { Extension } from '$lib/extensions/types';
import { push } from './push.svelte';
import { text } from './text';
import { watch } from './watch.svelte';

export default {
  start: watch,
  leave: ({ api }) => push.unsubscribe(api),
  settings: [{ id: 'notifications', title: () => text.label, order: 20, load: () => import('./NotificationSettings.svelte') }],
} satisfies Extension;
