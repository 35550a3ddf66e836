import BookMarked from '@lucide/svelte/icons/book-marked';
import ListChecks from '@lucide/svelte/icons/list-checks';
import type { Extension } from '$lib/extensions/types';
import { isResearch } from './progress';
import { reportOf, sourcesOf } from './report';
import type { AppState } from '$lib/state/app.svelte';
import { text } from '$lib/text';
import { planPanel } from './plan/panel';

const isOn = (app: AppState) => isResearch(app.conversation.values);

export default {
  panels: [
    {
      id: 'sources',
      label: 'Sources',
      icon: BookMarked,
      order: 30,
      load: () => import('./SourcesPanel.svelte'),
      badge: ({ conversation }) => sourcesOf(conversation.values).length,
      isShown: isOn,
    },
    planPanel,
  ],
  requests: [
    {
      type: 'plan_approval',
      load: () => import('./plan/PlanCard.svelte'),
      icon: ListChecks,
      headline: text.requests.showsPlan,
    },
  ],
  runs: [
    {
      id: 'research',
      load: () => import('./RunProgress.svelte'),
      isShown: (app) => isOn(app) || (app.agent === 'research' && app.isBusy),
    },
  ],
  bodies: [
    {
      id: 'report',
      load: () => import('./ReportView.svelte'),
      // Of several reports on a thread the state has the last one; the others stay as they were written.
      isShown: (messageId, { conversation }) => {
        const last = conversation.messages.findLast((message) => message.role === 'ai');
        const isReport = last?.id === messageId && last.text === conversation.values['final_report'];
        return isReport && reportOf(conversation.values) !== null;
      },
    },
  ],
} satisfies Extension;
