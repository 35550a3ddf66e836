import Folder from '@lucide/svelte/icons/folder';
import type { Extension } from '$lib/extensions/types';
import { scratchFiles } from './files';
import { text } from './text';

export default {
  panels: [
    {
      id: 'scratch',
      label: () => text.label,
      icon: Folder,
      tab: 'work',
      order: 45,
      load: () => import('./ScratchPanel.svelte'),
      isFilled: ({ conversation }) => scratchFiles(conversation.values['files']).length > 0,
      isShown: ({ conversation }) => scratchFiles(conversation.values['files']).length > 0,
      badge: ({ conversation }) => scratchFiles(conversation.values['files']).length,
    },
  ],
} satisfies Extension;
