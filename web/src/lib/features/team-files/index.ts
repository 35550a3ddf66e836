import FolderTree from '@lucide/svelte/icons/folder-tree';
import type { Extension } from '$lib/extensions/types';
import type { AppState } from '$lib/state/app.svelte';
import { AGENT, teamOf } from './team.svelte';
import { text } from './text';
import WorkspacePicker from './WorkspacePicker.svelte';

const PAGE = 'team-files';
// Not by way of `teamOf`: what an effect makes itself does not wake it.
const isShown = ({ session }: AppState) => (session.me?.workspaces.length ?? 0) > 0;

export default {
  panels: [
    {
      id: 'team',
      label: () => text.label,
      icon: FolderTree,
      tab: 'team',
      order: 25,
      load: () => import('./TeamView.svelte'),
      isShown: (app) => isShown(app) && app.agent === AGENT,
    },
  ],
  pages: [
    { id: PAGE, label: () => text.label, icon: FolderTree, order: 20, load: () => import('./TeamPage.svelte'), isShown },
  ],
  composerParts: [
    {
      id: 'workspace',
      component: WorkspacePicker,
      isShown: (app) => app.agent === AGENT && isShown(app),
    },
  ],
  decided: [
    {
      id: 'file-decisions',
      load: () => import('./DecisionLines.svelte'),
      isShown: ({ decisions }) => decisions.length > 0,
    },
  ],
  requests: [{ type: 'file_change', load: () => import('./ChangeCard.svelte') }],
  start: (app) => {
    app.inputs.set('bucket', () => teamOf(app).input());
  },
} satisfies Extension;
