/** Records what goes with a question, before it is sent. */
import { newId } from '$lib/protocol/ids';
import { disclosureRow, keepDisclosures } from '../store/disclosures';
import type { Documents } from '../store/documents';
import type { Choice } from './chooser';
import { characterStart } from './passages';

export const PASSAGES = 'question_passages';
export const ADDRESSES = 'question_addresses';

export interface Asked {
  threadId: string;
  agent: string;
  words: string;
}

export type QuestionRecord = (asked: Asked, choice: Choice) => Promise<void>;

/** From the first passage on, the conversation stays with its project. */
export function questionRecord(documents: Documents, now: () => number = Date.now): QuestionRecord {
  return async ({ threadId, agent, words }, { passages, pages }) => {
    const asking = { threadId, agent, callId: newId() };
    const rowOf = (name: string, passage: Parameters<typeof disclosureRow>[2]) =>
      disclosureRow(asking, { name, args: { query: words } }, passage, now());
    const rows = passages.map((passage) => {
      const { id: file, title, version } = passage.document;
      return rowOf(PASSAGES, { file, title, version, start: characterStart(passage), text: passage.text });
    });
    if (pages.length) rows.push(rowOf(ADDRESSES, { file: '', title: '', version: '', start: 0, text: pages.join('\n') }));
    await keepDisclosures(documents.db, rows);
    const project = await documents.projectOf(threadId);
    if (project !== null) await documents.bind(threadId, project);
  };
}
