import FolderTree from '@lucide/svelte/icons/folder-tree';
import type { Extension } from '$lib/extend/extension';
import type { Workspace } from '$lib/state/workspace.svelte';
import { AGENT, teamOf } from './team.svelte';
import { text } from './text';
import WorkspacePicker from './WorkspacePicker.svelte';

const PAGE = 'team-files';
// Not by way of `teamOf`: what an effect makes itself does not wake it.
const isShown = ({ session }: Workspace) => (session.me?.workspaces.length ?? 0) > 0;

export default {
  panels: [
    {
      id: 'team',
      label: text.label,
      icon: FolderTree,
      order: 25,
      load: () => import('./TeamView.svelte'),
      isShown: (workspace) => isShown(workspace) && workspace.route.page !== PAGE, // not twice beside itself
    },
  ],
  pages: [
    { id: PAGE, label: text.label, icon: FolderTree, order: 20, load: () => import('./TeamPage.svelte'), isShown },
  ],
  composerParts: [
    {
      id: 'workspace',
      component: WorkspacePicker,
      isShown: (workspace) => workspace.agent === AGENT && isShown(workspace),
    },
  ],
  requests: [{ type: 'file_change', load: () => import('./ChangeCard.svelte') }],
  start: (workspace) => {
    workspace.inputs.set('bucket', () => teamOf(workspace).input());
  },
} satisfies Extension;
