import Settings from '@lucide/svelte/icons/settings';
import type { Extension } from '$lib/extensions/types';
import { labels } from './labels.text';

export default {
  pages: [{ id: 'settings', label: () => labels.settings, icon: Settings, order: 90, load: () => import('./SettingsPage.svelte') }],
} satisfies Extension;
