/**
 * What an agent's client tools do here: list, read, search, write and patch documents.
 *
 * Every answer has the shape that docs/client-files.md gives. Reads run at once; a proposal goes to
 * the person (see `proposals.ts`). A conversation sees one project and nothing else.
 */
import type { Fields, Json } from '$lib/protocol/wire';
import { Finder } from '../search/finder';
import { disclose, type Requester } from './disclosures';
import { DocumentError, type Document, type Documents } from './documents';
import { linesOf } from './hunks';
import { matchesTitle } from './names';
import { pageAt, pagesOf } from './pages';
import { Positions, type Span } from './positions';

const MAX_ROWS = 200;
export const MAX_TEXT = 20_000;
const MAX_LINE = 500;
const MAX_HITS = 20;
/** An agent waits so long for the model of search by meaning; then words alone answer. */
const PATIENCE_MS = 15_000;

export const READS = [
  'list_user_files',
  'read_user_file',
  'search_user_files',
  'grep_user_files',
  'glob_user_files',
] as const;
export type Read = (typeof READS)[number];

export class Device {
  constructor(
    readonly documents: Documents,
    private readonly now: () => number = Date.now,
    private readonly finder: Finder = new Finder(),
  ) {}

  /** Answer a call that only reads, and write down what leaves with the answer. */
  async run(name: Read, args: Fields, asking: Requester): Promise<Json> {
    const project = await this.project(asking.threadId);
    const answer = await this.#answer(name, args, project);
    await disclose(this.documents.db, asking, { name, args }, answer, this.now());
    return answer;
  }

  /** The project of a conversation; from the first call on it stays with it. */
  async project(threadId: string): Promise<string> {
    const project = await this.documents.projectOf(threadId);
    if (project === null) throw new DocumentError('No documents are shared in this conversation: continue without them');
    await this.documents.bind(threadId, project);
    return project;
  }

  /** A document that this conversation may see. */
  async open(project: string, id: string): Promise<Document> {
    const document = await this.documents.read(id);
    if (document.projectId === project) return document;
    throw new DocumentError(`Document not found: '${id}'. List the documents to see which exist`);
  }

  #answer(name: Read, args: Fields, project: string): Promise<Json> {
    switch (name) {
      case 'list_user_files':
        return this.#list(project, ({ type, kind }) => args['file_type'] == null || [type, kind].includes(words(args, 'file_type')));
      case 'glob_user_files':
        return this.#list(project, ({ title }) => matchesTitle(title, words(args, 'pattern')));
      case 'read_user_file':
        return this.#read(project, words(args, 'file_id'), count(args, 'offset', 0), count(args, 'limit', 8_000));
      case 'search_user_files':
        return this.#search(project, words(args, 'query'), count(args, 'top_k', 8));
      case 'grep_user_files':
        return this.#grep(project, args);
    }
  }

  async #list(project: string, isWanted: (document: Document) => boolean): Promise<Json> {
    const found = (await this.documents.all(project)).filter(isWanted);
    const files = found
      .slice(0, MAX_ROWS)
      .map(({ id, title, version, type, characters, pages }) => ({ id, title, version, type, characters, ...(pages && { pages: pages.length }) }));
    return { files, truncated: found.length > MAX_ROWS };
  }

  async #read(project: string, id: string, offset: number, limit: number): Promise<Json> {
    const document = await this.open(project, id);
    const places = new Positions(document.text);
    const start = places.in(offset);
    return windowOf(document, places, start, places.in(Math.min(offset, places.total) + Math.min(limit, MAX_TEXT)));
  }

  async #search(project: string, query: string, most: number): Promise<Json> {
    const documents = await this.documents.all(project);
    const byId = new Map(documents.map((document) => [document.id, document]));
    const found = await this.finder.find(documents, query, { most: Math.min(most, MAX_HITS), patienceMs: PATIENCE_MS });
    const hits = found.hits.map(({ documentId, start, end }) => {
      const document = byId.get(documentId)!;
      return windowOf(document, new Positions(document.text), start, end);
    });
    return { hits, by: found.isByMeaning ? 'meaning' : 'words' };
  }

  async #grep(project: string, args: Fields): Promise<Json> {
    const pattern = words(args, 'pattern');
    const glob = args['glob'] == null ? null : words(args, 'glob');
    const matches: Json[] = [];
    let size = 0;
    for (const document of await this.documents.all(project)) {
      if (glob !== null && !matchesTitle(document.title, glob)) continue;
      for (const row of linesWith(document, pattern, args['case_sensitive'] === true)) {
        size += row.text.length;
        if (matches.length >= MAX_ROWS || size > MAX_TEXT) return { matches, truncated: true };
        matches.push(row);
      }
    }
    return { matches, truncated: false };
  }
}

export function words(args: Fields, name: string): string {
  const value = args[name];
  if (typeof value !== 'string') throw new DocumentError(`'${name}' must be text`);
  return value;
}

function count(args: Fields, name: string, otherwise: number): number {
  const value = args[name] ?? otherwise;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new DocumentError(`'${name}' must be a whole number`);
}

function windowOf(document: Document, places: Positions, start: number, end: number) {
  const { id, title, version, text } = document;
  const place = { start: places.out(start), total: places.total, ...numbersOf(document, { start, end }) };
  return { file_id: id, title, version, ...place, text: text.slice(start, end) };
}

/** The page on which a part begins, and the one on which it ends. */
function numbersOf({ pages }: Document, span: Span): Fields {
  if (!pages) return {};
  const { first, last } = pagesOf(pages, span);
  return { page: first, last_page: last };
}

function* linesWith({ id, title, version, text, pages }: Document, pattern: string, isExact: boolean) {
  const fold = (line: string) => (isExact ? line : line.toLowerCase());
  const wanted = fold(pattern);
  const places = new Positions(text);
  let start = 0;
  for (const [index, whole] of linesOf(text).entries()) {
    const line = whole.replace(/(?<![\r\n])[\r\n]+$/, '');
    const at = fold(line).indexOf(wanted);
    if (at >= 0) {
      const from = line.length <= MAX_LINE ? 0 : Math.max(0, Math.min(at, line.length) - MAX_LINE / 4);
      const cut = from > 0 && isSecondHalf(line, from) ? from - 1 : from;
      const end = isSecondHalf(line, cut + MAX_LINE) ? cut + MAX_LINE - 1 : cut + MAX_LINE;
      const place = { line: index + 1, start: places.out(start + cut), text: line.slice(cut, end) };
      yield { file_id: id, title, version, ...place, ...(pages && { page: pageAt(pages, start) }) };
    }
    start += whole.length;
  }
}

function isSecondHalf(line: string, at: number): boolean {
  const code = line.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
