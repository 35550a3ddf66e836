import Network from '@lucide/svelte/icons/network';
import { useDeciding } from '$lib/argument/deciding.svelte';
import { liveNodes, mapOf, statusOf } from '$lib/argument/map';
import { moveOf } from '$lib/argument/moves';
import type { Extension } from '$lib/extend/extension';

export default {
  panels: [
    {
      id: 'map',
      label: 'Map',
      icon: Network,
      order: 10,
      load: () => import('$lib/components/map/MapPanel.svelte'),
      // What waits for the person's word.
      badge: ({ conversation }) => {
        const map = useDeciding().over(mapOf(conversation.view), conversation.id);
        return liveNodes(map).filter((node) => statusOf(map, node.id) === 'proposed').length;
      },
      isShown: ({ agent, conversation }) => agent === 'tutor' || 'argument_map' in conversation.values,
    },
  ],
  requests: [
    { type: 'clarification_request:review_nodes', load: () => import('$lib/components/map/ReviewCard.svelte') },
  ],
  notes: [
    {
      id: 'move',
      order: 10,
      load: () => import('$lib/components/map/MoveChip.svelte'),
      isShown: (messageId, { conversation }) => moveOf(conversation.values, messageId) !== null,
    },
  ],
  start: (workspace) => {
    workspace.inputs.set('argument_map', () =>
      useDeciding().input(mapOf(workspace.conversation.view), workspace.conversation.id),
    );
  },
} satisfies Extension;
