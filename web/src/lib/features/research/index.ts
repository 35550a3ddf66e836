import BookMarked from '@lucide/svelte/icons/book-marked';
import type { Extension } from '$lib/extend/extension';
import { isResearch } from '$lib/research/progress';
import { reportOf, sourcesOf } from '$lib/research/report';
import type { Workspace } from '$lib/state/workspace.svelte';

const isOn = (workspace: Workspace) => isResearch(workspace.conversation.values);

export default {
  panels: [
    {
      id: 'sources',
      label: 'Sources',
      icon: BookMarked,
      order: 30,
      load: () => import('$lib/components/research/SourcesPanel.svelte'),
      badge: ({ conversation }) => sourcesOf(conversation.values).length,
      isShown: isOn,
    },
  ],
  runs: [
    {
      id: 'research',
      load: () => import('$lib/components/research/RunProgress.svelte'),
      isShown: (workspace) => isOn(workspace) || (workspace.agent === 'research' && workspace.isBusy),
    },
  ],
  bodies: [
    {
      id: 'report',
      load: () => import('$lib/components/research/ReportView.svelte'),
      // Of several reports on a thread the state has the last one; the others stay as they were written.
      isShown: (messageId, { conversation }) => {
        const last = conversation.messages.findLast((message) => message.role === 'ai');
        const isReport = last?.id === messageId && last.text === conversation.values['final_report'];
        return isReport && reportOf(conversation.values) !== null;
      },
    },
  ],
} satisfies Extension;
