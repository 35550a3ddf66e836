/** What left the device: written down before it goes, and kept when the document is gone. */
import type { Fields, Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import type { Database, DisclosureRow } from './database';
import { Positions } from './positions';
import { sha256 } from '$lib/sha256';

/** To whom it goes. */
export interface Requester {
  threadId: string;
  callId: string;
  agent: string;
}

export interface Call {
  name: string;
  args: Fields;
}

/** Write down every passage of an answer. What the same call asks again is the same passage. */
export async function disclose(db: Database, asking: Requester, call: Call, answer: Json, at: number): Promise<void> {
  if (!isFields(answer)) return;
  const rows = passages(answer).map((passage) => disclosureRow(asking, call, passage, at));
  if (rows.length) await keepDisclosures(db, rows);
}

/** Write down passages, all of them or none. */
export async function keepDisclosures(db: Database, rows: readonly DisclosureRow[]): Promise<void> {
  await db.transaction('rw', db.disclosures, db.documents, db.versions, async () => {
    for (const made of rows) {
      const document = await db.documents.get(made.documentId);
      made.title ||= document?.title ?? made.documentId;
      await db.disclosures.put(made);
      // An agent has seen this text: typing must not write over it.
      const seen = db.versions.where('documentId').equals(made.documentId);
      await seen.and((version) => version.version === made.version).modify({ isKept: true });
    }
  });
}

interface Passage {
  file: string;
  title: string;
  version: string;
  start: number;
  text: string;
}

export function disclosureRow({ threadId, callId, agent }: Requester, call: Call, passage: Passage, at: number): DisclosureRow {
  return {
    id: `${threadId} ${callId} ${passage.file} ${passage.start}`,
    at,
    threadId,
    agent,
    call: callId,
    tool: call.name,
    why: whyOf(call.args),
    documentId: passage.file,
    title: passage.title,
    version: passage.version,
    start: passage.start,
    end: passage.start + new Positions(passage.text).total,
    bytes: new TextEncoder().encode(passage.text).length,
    sha256: sha256(passage.text),
    text: passage.text,
  };
}

function whyOf(args: Fields): string {
  const words = args['description'] ?? args['query'] ?? args['pattern'] ?? '';
  return typeof words === 'string' ? words : '';
}

function passages(answer: Fields): Passage[] {
  if (Array.isArray(answer['files'])) return titles(answer['files']);
  const listed = answer['hits'] ?? answer['matches'];
  if (Array.isArray(listed)) return listed.filter(isFields).flatMap(passages);
  const { file_id: file, version, text } = answer;
  if (typeof file !== 'string' || typeof version !== 'string' || typeof text !== 'string' || text === '') return [];
  const start = typeof answer['start'] === 'number' ? answer['start'] : 0;
  return [{ file, version, text, start, title: typeof answer['title'] === 'string' ? answer['title'] : '' }];
}

/** The titles of documents are the person's words too. */
function titles(files: Json[]): Passage[] {
  const names = files.filter(isFields).map((file) => String(file['title'] ?? ''));
  return names.length ? [{ file: '', title: '', version: '', start: 0, text: names.join('\n') }] : [];
}
