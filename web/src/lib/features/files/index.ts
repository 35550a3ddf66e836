import BookOpen from '@lucide/svelte/icons/book-open-text';
import Files from '@lucide/svelte/icons/files';
import Send from '@lucide/svelte/icons/send';
import type { Extension, ToolContext } from '$lib/extend/extension';
import type { Fields } from '$lib/protocol/wire';
import { labels } from './labels';

const panel = () => import('$lib/components/files/FilesPanel.svelte');
const card = () => import('$lib/components/diff/ProposalCard.svelte');
const reads = ['list_user_files', 'read_user_file', 'search_user_files', 'grep_user_files', 'glob_user_files'] as const;

export default {
  panels: [
    { id: 'documents', label: labels.documents, icon: BookOpen, order: 20, load: panel },
    {
      id: 'disclosures',
      label: labels.disclosures,
      icon: Send,
      order: 60,
      load: () => import('$lib/components/disclosures/DisclosurePanel.svelte'),
    },
  ],
  pages: [{ id: 'documents', label: labels.documents, icon: Files, order: 10, load: panel }],
  clientTools: [
    ...reads.map((name) => ({
      name,
      // The database is fetched with the first call, not with the page.
      run: async (args: Fields, context: ToolContext) => (await import('./run')).run(name, args, context),
    })),
    { name: 'write_user_file', card },
    { name: 'patch_user_file', card },
  ],
} satisfies Extension;
