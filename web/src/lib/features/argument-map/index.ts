import Network from '@lucide/svelte/icons/network';
import { usePendingEdits } from './pending-edits.svelte';
import { liveNodes, mapOf, statusOf } from './map';
import { labels } from './labels.text';
import { moveOf } from './moves';
import type { Extension } from '$lib/extensions/types';

export default {
  panels: [
    {
      id: 'map',
      label: () => labels.map,
      icon: Network,
      tab: 'map',
      order: 10,
      load: () => import('./MapPanel.svelte'),
      // What waits for the person's word.
      badge: ({ conversation }) => {
        const map = usePendingEdits().over(mapOf(conversation.view), conversation.id);
        return liveNodes(map).filter((node) => statusOf(map, node.id) === 'proposed').length;
      },
      isFilled: ({ conversation }) => liveNodes(mapOf(conversation.view)).length > 0,
      isShown: ({ agent, conversation }) => agent === 'tutor' || 'argument_map' in conversation.values,
    },
  ],
  requests: [
    { type: 'clarification_request:review_nodes', load: () => import('./ReviewCard.svelte') },
  ],
  notes: [
    {
      id: 'move',
      order: 10,
      load: () => import('./MoveChip.svelte'),
      isShown: (messageId, { conversation }) => moveOf(conversation.values, messageId) !== null,
    },
  ],
  start: (workspace) => {
    workspace.inputs.set('argument_map', () =>
      usePendingEdits().input(mapOf(workspace.conversation.view), workspace.conversation.id),
    );
  },
} satisfies Extension;
