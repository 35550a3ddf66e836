/**
 * Documents of the person: made, changed, and every version kept.
 *
 * A version is named by its text, so it changes with any change, whoever made it. What goes wrong is
 * a `DocumentError`, whose message is for the agent and the person to read.
 */
import type { Author, Database, DocumentKind, DocumentRow, Project, VersionRow } from './database';
import { errorText } from './errors.text';
import { cleanTitle, freeTitle, typeOf, withSuffix } from './names';
import { Positions, wellFormed } from './positions';
import { sha256 } from '$lib/sha256';

/** Typing within this time is one version. */
const TYPING_MS = 5 * 60_000;
export const MAX_CHARACTERS = 5_000_000;

export class DocumentError extends Error {}
/** The document is no longer the version that a change was made for. */
export class DocumentChanged extends DocumentError {}

export interface Document extends DocumentRow {
  text: string;
}

export interface NewDocument {
  projectId: string;
  title: string;
  text: string;
  kind?: DocumentKind;
  type?: string;
  origin?: string;
  pages?: number[];
  by?: Author;
  why?: string;
}

export interface Change {
  text: string;
  base: string;
  by?: Author;
  why?: string;
}

/** The version of a text: the beginning of its SHA-256. */
export function versionOf(text: string): string {
  return sha256(text).slice(0, 16);
}

function newKey(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(5));
  return `${prefix}-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

export class Documents {
  constructor(
    readonly db: Database,
    private readonly now: () => number = Date.now,
  ) {}

  // ── projects ──

  async projects(): Promise<Project[]> {
    return (await this.db.projects.toArray()).sort((a, b) => a.createdAt - b.createdAt || a.id.localeCompare(b.id));
  }

  async addProject(name: string): Promise<Project> {
    const clean = cleanTitle(name);
    if (clean === null) throw new DocumentError(errorText.noProjectName);
    const project = { id: newKey('project'), name: clean, createdAt: this.now() };
    await this.db.projects.add(project);
    return project;
  }

  async renameProject(id: string, name: string): Promise<void> {
    const clean = cleanTitle(name);
    if (clean !== null) await this.db.projects.update(id, { name: clean });
  }

  /** The project that a conversation sees: its own, or else the one that was used last. */
  async projectOf(threadId: string): Promise<string | null> {
    const last = await this.db.talks.orderBy('at').last();
    for (const talk of [await this.db.talks.get(threadId), last]) {
      if (talk && (await this.db.projects.get(talk.projectId))) return talk.projectId;
    }
    return (await this.projects()).at(-1)?.id ?? null;
  }

  /** Let a conversation see a project, and no other. */
  async bind(threadId: string, projectId: string): Promise<void> {
    await this.db.talks.put({ threadId, projectId, at: this.now() });
  }

  // ── reading ──

  async rows(projectId: string): Promise<DocumentRow[]> {
    const rows = await this.db.documents.where('projectId').equals(projectId).toArray();
    return rows.sort((a, b) => a.title.localeCompare(b.title) || a.id.localeCompare(b.id));
  }

  async all(projectId: string): Promise<Document[]> {
    return this.db.transaction('r', this.db.documents, this.db.versions, async () => {
      const rows = await this.rows(projectId);
      const texts = await this.db.versions.bulkGet(rows.map((row) => [row.id, row.number]));
      return rows.map((row, index) => ({ ...row, text: texts[index]?.text ?? '' }));
    });
  }

  async read(id: string): Promise<Document> {
    return this.db.transaction('r', this.db.documents, this.db.versions, async () => {
      const row = await this.#row(id);
      const version = await this.db.versions.get([id, row.number]);
      return { ...row, text: version?.text ?? '' };
    });
  }

  /** The versions of a document, newest first. */
  async versions(id: string): Promise<VersionRow[]> {
    return (await this.db.versions.where('documentId').equals(id).toArray()).sort((a, b) => b.number - a.number);
  }

  // ── writing ──

  /** The title that a new document of an agent would have; it never takes another's place. */
  async place(projectId: string, title: string, type: string): Promise<string> {
    const clean = cleanTitle(title);
    if (clean === null) throw new DocumentError('A document needs a title of at most 300 characters.');
    const name = withSuffix(clean, type);
    if ((await this.#taken(projectId)).has(name.toLowerCase())) {
      throw new DocumentError(`Document already exists: '${name}'. Choose another title, or read and patch it.`);
    }
    return name;
  }

  /** Make a document; a title that is taken gets a number. */
  async create(made: NewDocument): Promise<Document> {
    const text = checked(made.text);
    return this.db.transaction('rw', this.db.projects, this.db.documents, this.db.versions, async () => {
      if (!(await this.db.projects.get(made.projectId))) throw new DocumentError(errorText.noProject);
      const title = freeTitle(cleanTitle(made.title) ?? 'Untitled', await this.#taken(made.projectId));
      const at = this.now();
      const row: DocumentRow = {
        id: newKey('doc'),
        projectId: made.projectId,
        title,
        kind: made.kind ?? 'document',
        type: made.type ?? typeOf(title),
        version: versionOf(text),
        number: 1,
        characters: new Positions(text).total,
        createdAt: at,
        changedAt: at,
        origin: made.origin ?? '',
        ...(made.pages && { pages: made.pages }),
      };
      await this.db.documents.add(row);
      const first = versionRow(row, text, { at, by: made.by ?? 'person', why: made.why ?? '' });
      await this.db.versions.add({ ...first, isKept: text !== '' });
      return { ...row, text };
    });
  }

  /** Give a document a new text, if it still is the version that was meant. */
  async replace(id: string, change: Change): Promise<Document> {
    const text = checked(change.text);
    return this.db.transaction('rw', this.db.documents, this.db.versions, async () => {
      const row = await this.#row(id);
      if (row.version !== change.base) throw new DocumentChanged(`Document changed since it was read: '${row.title}'`);
      const version = versionOf(text);
      if (version === row.version) return { ...row, text };
      const by = change.by ?? 'person';
      const at = this.now();
      const last = await this.db.versions.get([id, row.number]);
      const isTyping = by === 'person' && last?.by === 'person' && !last.isKept && at - last.at < TYPING_MS;
      const number = isTyping ? row.number : row.number + 1;
      const next = { ...row, version, number, characters: new Positions(text).total, changedAt: at };
      await this.db.documents.put(next);
      const written = versionRow(next, text, { at: isTyping ? last.at : at, by, why: change.why ?? '' });
      await this.db.versions.put(written);
      return { ...next, text };
    });
  }

  async rename(id: string, title: string): Promise<void> {
    await this.db.transaction('rw', this.db.documents, async () => {
      const row = await this.#row(id);
      const clean = cleanTitle(title);
      if (clean === null || clean === row.title) return;
      const taken = await this.#taken(row.projectId);
      taken.delete(row.title.toLowerCase());
      await this.db.documents.update(id, { title: freeTitle(clean, taken) });
    });
  }

  /** Remove a document and its versions; what left the device stays written down. */
  async remove(id: string): Promise<void> {
    await this.db.transaction('rw', this.db.documents, this.db.versions, async () => {
      await this.db.versions.where('documentId').equals(id).delete();
      await this.db.documents.delete(id);
    });
  }

  async #row(id: string): Promise<DocumentRow> {
    const row = await this.db.documents.get(id);
    if (!row) throw new DocumentError(`Document not found: '${id}'. List the documents to see which exist.`);
    return row;
  }

  async #taken(projectId: string): Promise<Set<string>> {
    const rows = await this.db.documents.where('projectId').equals(projectId).toArray();
    return new Set(rows.map((row) => row.title.toLowerCase()));
  }
}

function checked(text: string): string {
  if (text.length > MAX_CHARACTERS) throw new DocumentError(errorText.longText(MAX_CHARACTERS));
  return wellFormed(text);
}

function versionRow(row: DocumentRow, text: string, about: Pick<VersionRow, 'at' | 'by' | 'why'>): VersionRow {
  const isKept = about.by !== 'person';
  return { documentId: row.id, number: row.number, version: row.version, text, isKept, ...about };
}
