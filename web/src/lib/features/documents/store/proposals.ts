/**
 * What an agent would like a document to be, and what the person makes of it.
 *
 * A document that is no longer the version the agent read is left alone, and the answer has what is
 * there now. What the person decided is kept together with the change, so that a page that is closed
 * in between can still tell it.
 */
import type { Fields, Json } from '$lib/protocol/wire';
import { MAX_TEXT, words, type Device } from './device';
import { disclose, type Requester } from './disclosures';
import { DocumentError, type Document } from './documents';
import { linesOf } from './hunks';
import type { Proposes } from '../proposing-tools';
import { firstOf, Positions } from './positions';

const MAX_REASON = 2_000;

export interface Proposal {
  project: string;
  /** null: the document is new. */
  document: Document | null;
  title: string;
  type: string;
  before: string | null;
  after: string;
  description: string;
  /** For a conflict: what the agent wanted to replace. */
  search: string;
}

export interface Verdict {
  /** All of the document as it shall be; null: nothing is taken. */
  text: string | null;
  refused: { text: string; reason: string }[];
  reason: string;
}

/** A proposal for the person, or an answer that needs nobody. */
export type Prepared = { proposal: Proposal } | { answer: Json };

export class Proposals {
  constructor(
    private readonly device: Device,
    private readonly now: () => number = Date.now,
  ) {}

  async prepare(name: Proposes, args: Fields, asking: Requester): Promise<Prepared> {
    try {
      const project = await this.device.project(asking.threadId);
      return name === 'write_user_file' ? await this.#write(args, project) : await this.#patch(args, project, asking);
    } catch (error) {
      if (error instanceof DocumentError) return { answer: { error: error.message } };
      throw error;
    }
  }

  /** What the person decided before, when the server did not get it. */
  async decided(asking: Requester): Promise<Json | null> {
    return (await this.device.documents.db.decisions.get(keyOf(asking)))?.result ?? null;
  }

  /** Do what the person decided, keep the answer, and write down what leaves with it. */
  async settle(name: Proposes, args: Fields, asking: Requester, proposal: Proposal, verdict: Verdict): Promise<Json> {
    const { db } = this.device.documents;
    const tables = [db.projects, db.documents, db.versions, db.decisions, db.disclosures];
    return db.transaction('rw', tables, async () => {
      const kept = await db.decisions.get(keyOf(asking));
      if (kept) return kept.result;
      const result = await this.#result(proposal, verdict);
      await db.decisions.put({ id: keyOf(asking), at: this.now(), result });
      await disclose(db, asking, { name, args }, result, this.now());
      return result;
    });
  }

  async #write(args: Fields, project: string): Promise<Prepared> {
    const type = typeof args['file_type'] === 'string' ? args['file_type'] : 'markdown';
    const title = await this.device.documents.place(project, words(args, 'title'), type);
    const [after, description] = [words(args, 'content'), words(args, 'description')];
    return { proposal: { project, document: null, title, type, before: null, after, description, search: '' } };
  }

  async #patch(args: Fields, project: string, asking: Requester): Promise<Prepared> {
    const document = await this.device.open(project, words(args, 'file_id'));
    const { title, type, text: before } = document;
    if (document.kind === 'source') {
      throw new DocumentError(`'${title}' is a source and stays as it is: write a document instead`);
    }
    const [search, description] = [words(args, 'search'), words(args, 'description')];
    if (document.version !== words(args, 'base_version')) {
      const answer = conflict(document, search);
      await disclose(this.device.documents.db, asking, { name: 'patch_user_file', args }, answer, this.now());
      return { answer };
    }
    const after = patched(before, search, words(args, 'replace'));
    return { proposal: { project, document, title, type, before, after, description, search } };
  }

  async #result(proposal: Proposal, verdict: Verdict): Promise<Fields> {
    const refused = verdict.refused.map(({ text, reason }) => ({
      text: firstOf(text, MAX_TEXT),
      reason: firstOf(reason, MAX_REASON),
    }));
    if (verdict.text === null || verdict.text === proposal.before) {
      const reasons = [verdict.reason, ...verdict.refused.map(({ reason }) => reason)].filter(Boolean);
      return { status: 'refused', reason: firstOf([...new Set(reasons)].join('; '), MAX_REASON), refused };
    }
    const written = await this.#written(proposal, verdict.text);
    if (written === null) return conflict(await this.device.documents.read(proposal.document!.id), proposal.search);
    if (written.text === proposal.after) return { status: 'applied', file_id: written.id, version: written.version };
    const part = partOf(written, ...changed(proposal, written.text));
    return { status: 'partly', ...part, reason: firstOf(verdict.reason, MAX_REASON), refused };
  }

  /** null: the document was changed while the person made up their mind. */
  async #written({ project, document, title, type, description }: Proposal, text: string): Promise<Document | null> {
    const about = { text, by: 'agent' as const, why: description };
    if (document === null) return this.device.documents.create({ projectId: project, title, type, ...about });
    // Looked at before: an error in a transaction ends it, and with it what the person decided.
    if ((await this.device.documents.read(document.id)).version !== document.version) return null;
    return this.device.documents.replace(document.id, { ...about, base: document.version });
  }
}

const keyOf = ({ threadId, callId }: Requester) => `${threadId} ${callId}`;

function patched(text: string, search: string, replace: string): string {
  const isReturned = !text.includes(search) && text.includes('\r\n'); // the agent saw line ends as `\n`
  const [wanted, put] = isReturned ? [withReturns(search), withReturns(replace)] : [search, replace];
  const times = wanted === '' ? 0 : text.split(wanted).length - 1;
  if (times !== 1) {
    const where = times ? `occurs ${times} times` : 'was not found';
    throw new DocumentError(`The text to replace ${where}: copy a unique passage from the document exactly`);
  }
  if (wanted === put) throw new DocumentError('The replacement is the same as the original text');
  return text.replace(wanted, () => put);
}

const withReturns = (text: string) => text.replace(/\r?\n/g, '\r\n');

/** What is there now, around the place that was meant. */
function conflict(now: Document, search: string): Fields {
  const near = linesOf(search).filter((line) => line.trim()).map((line) => now.text.indexOf(line));
  const at = near.find((place) => place >= 0) ?? 0;
  const start = now.text.length <= MAX_TEXT ? 0 : Math.max(0, at - MAX_TEXT / 2);
  return { status: 'conflict', ...partOf(now, start, now.text.length) };
}

function partOf({ id, version, text }: Document, start: number, end: number): Fields {
  const places = new Positions(text);
  const about = { file_id: id, version, start: places.out(start), total: places.total };
  return { ...about, text: firstOf(text.slice(start, end), MAX_TEXT) };
}

/** Where in what was written the proposal would have changed something, in whole lines. */
function changed(proposal: Proposal, written: string): [number, number] {
  const texts = [proposal.before ?? '', proposal.after, written];
  const first = common(texts, (text, at) => text[at]);
  const shortest = Math.min(...texts.map((text) => text.length)) - first;
  const kept = Math.min(shortest, common(texts, (text, at) => text[text.length - 1 - at]));
  const end = written.length - kept;
  const start = written.lastIndexOf('\n', first - 1) + 1;
  if (end === written.length || written[end - 1] === '\n') return [first === 0 ? 0 : start, end];
  const last = written.indexOf('\n', end);
  return [first === 0 ? 0 : start, last < 0 ? written.length : last + 1];
}

function common(texts: string[], letter: (text: string, at: number) => string | undefined): number {
  const most = Math.min(...texts.map((text) => text.length));
  let at = 0;
  while (at < most && texts.every((text) => letter(text, at) === letter(texts[0]!, at))) at += 1;
  return at;
}
