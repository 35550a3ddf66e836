import BookOpen from '@lucide/svelte/icons/book-open-text';
import Files from '@lucide/svelte/icons/files';
import type { Extension } from '$lib/extensions/types';
import type { Fields } from '$lib/protocol/wire';
import type { ToolContext } from '$lib/state/client-tools';
import { labels } from './labels.text';
import { RESEARCH } from './question/agent';
import { PROPOSES } from './proposing-tools';
import { usePresence } from './store/presence.svelte';
import AttachButton from './ui/AttachButton.svelte';
import FileDrop from './ui/FileDrop.svelte';
import QuestionHeader from './ui/QuestionHeader.svelte';
import SeenDocuments from './ui/SeenDocuments.svelte';

const panel = () => import('./ui/FilesPanel.svelte');
const page = () => import('./ui/DocumentsPage.svelte');
const card = () => import('./ui/ProposalCard.svelte');
const reads = ['list_user_files', 'read_user_file', 'search_user_files', 'grep_user_files', 'glob_user_files'] as const;

export default {
  panels: [
    { id: 'documents', label: () => labels.documents, icon: BookOpen, tab: 'documents', order: 20, load: panel },
  ],
  pages: [{ id: 'documents', label: () => labels.documents, icon: Files, order: 10, load: page }],
  lines: [
    {
      id: 'shared-passages',
      order: 5,
      load: () => import('./ui/SharedLine.svelte'),
      isShown: ({ conversation }) => conversation.messages.length > 0,
    },
  ],
  composerParts: [
    { id: 'attach', component: AttachButton, isShown: () => true },
    {
      id: 'seen-documents',
      component: SeenDocuments,
      // The researcher gets what its own line says.
      isShown: ({ agent, agents }) => agent !== RESEARCH && agents.readsDocuments(agent),
    },
  ],
  composerHeaders: [
    { id: 'file-drop', component: FileDrop },
    { id: 'question-context', component: QuestionHeader },
  ],
  mentions: [
    {
      id: 'documents',
      find: async (letters, { agent, agents, conversation }) => {
        if (!agents.readsDocuments(agent)) return [];
        const presence = usePresence();
        await presence.look();
        if (!presence.isLikely) return [];
        return (await import('./mention-source')).find(letters, conversation.id);
      },
    },
  ],
  decided: [
    {
      id: 'proposals',
      load: () => import('./ui/DecidedProposal.svelte'),
      isShown: ({ proposal }) => proposal !== null && proposal.status !== 'conflict',
    },
  ],
  start: (app) => {
    app.inputs.set('documents', async (run) => {
      if (run.agent !== RESEARCH) return {};
      const { useQuestionContext } = await import('./question/context.svelte');
      return useQuestionContext().input(run);
    });
  },
  sharedTexts: async () => {
    const { database } = await import('./store/database');
    const { ADDRESSES } = await import('./question/disclosure');
    // An address that was shared is not words of a document: a link to it needs no question.
    return (await database().disclosures.toArray()).filter(({ tool }) => tool !== ADDRESSES).map(({ text }) => text);
  },
  openQuote: async ({ file, ...quote }) => {
    const { useShelf } = await import('./store/shelf.svelte');
    return useShelf().openQuote(file, quote);
  },
  citeQuote: async (quote) => {
    const presence = usePresence();
    await presence.look();
    return presence.isLikely ? (await import('./citation')).cite(quote) : null;
  },
  clientTools: [
    ...reads.map((name) => ({
      name,
      // The database is fetched with the first call, not with the page.
      run: async (args: Fields, context: ToolContext) => (await import('./read-tool')).run(name, args, context),
    })),
    ...PROPOSES.map((name) => ({ name, card })),
  ],
} satisfies Extension;
