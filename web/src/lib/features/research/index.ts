import BookMarked from '@lucide/svelte/icons/book-marked';
import Files from '@lucide/svelte/icons/files';
import ListChecks from '@lucide/svelte/icons/list-checks';
import type { Extension } from '$lib/extensions/types';
import { answerTextOf, reportCountOf } from './follow-up';
import { followUpText } from './follow-up.text';
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
      label: () => followUpText.sources,
      icon: BookMarked,
      tab: 'sources',
      order: 30,
      load: () => import('./SourcesPanel.svelte'),
      badge: ({ conversation }) => sourcesOf(conversation.values).length,
      isFilled: ({ conversation }) => sourcesOf(conversation.values).length > 0,
      isShown: isOn,
    },
    {
      id: 'reports',
      label: () => followUpText.reports,
      icon: Files,
      tab: 'sources',
      order: 35,
      load: () => import('./ReportsPanel.svelte'),
      badge: ({ conversation }) => reportCountOf(conversation.values),
      // A single report that the conversation shows is exported there.
      isShown: ({ conversation: { values } }) => reportCountOf(values) > (reportOf(values) ? 1 : 0),
    },
    planPanel,
  ],
  requests: [
    {
      type: 'plan_approval',
      load: () => import('./plan/PlanCard.svelte'),
      icon: ListChecks,
      headline: () => text.requests.showsPlan,
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
      id: 'answer',
      load: () => import('./FollowUpAnswer.svelte'),
      isShown: (messageId, { conversation }) => {
        const last = conversation.messages.findLast((message) => message.role === 'ai');
        return last?.id === messageId && last.text === answerTextOf(conversation.values);
      },
    },
    {
      id: 'report',
      load: () => import('./ReportView.svelte'),
      // Of several reports on a thread the state has the last one; the panel has the others.
      isShown: (messageId, { conversation }) => {
        const last = conversation.messages.findLast((message) => message.role === 'ai');
        const isReport = last?.id === messageId && last.text === conversation.values['final_report'];
        return isReport && reportOf(conversation.values) !== null;
      },
    },
  ],
} satisfies Extension;
