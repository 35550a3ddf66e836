import BookOpen from '@lucide/svelte/icons/book-open-text';
import Files from '@lucide/svelte/icons/files';
import Send from '@lucide/svelte/icons/send';
import type { Extension } from '$lib/extensions/types';
import type { Fields } from '$lib/protocol/wire';
import type { ToolContext } from '$lib/state/client-tools';
import { labels } from './labels';
import FileDrop from './ui/FileDrop.svelte';

const panel = () => import('./ui/FilesPanel.svelte');
const page = () => import('./ui/DocumentsPage.svelte');
const card = () => import('./ui/ProposalCard.svelte');
const reads = ['list_user_files', 'read_user_file', 'search_user_files', 'grep_user_files', 'glob_user_files'] as const;

export default {
  panels: [
    { id: 'documents', label: labels.documents, icon: BookOpen, order: 20, load: panel },
    {
      id: 'disclosures',
      label: labels.disclosures,
      icon: Send,
      order: 60,
      load: () => import('./ui/DisclosurePanel.svelte'),
    },
  ],
  pages: [{ id: 'documents', label: labels.documents, icon: Files, order: 10, load: page }],
  composerHeaders: [{ id: 'file-drop', component: FileDrop }],
  sharedTexts: async () => {
    const { database } = await import('./store/database');
    return (await database().disclosures.toArray()).map((row) => row.text);
  },
  openQuote: async ({ file, ...quote }) => {
    const { useShelf } = await import('./store/shelf.svelte');
    await useShelf().openQuote(file, quote);
  },
  clientTools: [
    ...reads.map((name) => ({
      name,
      // The database is fetched with the first call, not with the page.
      run: async (args: Fields, context: ToolContext) => (await import('./read-tool')).run(name, args, context),
    })),
    { name: 'write_user_file', card },
    { name: 'patch_user_file', card },
  ],
} satisfies Extension;
