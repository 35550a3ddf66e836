/** What the page shows of the documents: kept up to date by the database, in every tab. */
import { liveQuery, type Subscription } from 'dexie';
import type { DocumentQuote, QuoteOutcome } from '$lib/extensions/types';
import type { PageWire } from '$lib/protocol/api';
import { Finder, type By, type Finding } from '../search/finder';
import { Meaning } from '../search/meaning.svelte';
import { QuestionChooser } from '../question/chooser';
import { questionRecord } from '../question/disclosure';
import { database, type DocumentKind, type DocumentRow, type Project } from './database';
import { Device } from './device';
import { DocumentError, Documents, type Document } from './documents';
import { extract } from './text-extraction';
import { MAX_TITLE } from './names';
import { Positions, spanOfBytes, type Span } from './positions';
import { Proposals } from './proposals';
import { Session } from './session.svelte';
import { persist } from '$lib/persistence';
import { usePresence } from './presence.svelte';

const READ_AFTER_MS = 1_000;

type WireQuote = Omit<DocumentQuote, 'file'>;

export class Shelf {
  readonly documents = new Documents(database());
  readonly meaning = new Meaning();
  readonly #finder = new Finder(this.meaning);
  readonly device = new Device(this.documents, Date.now, this.#finder);
  readonly proposals = new Proposals(this.device);
  readonly chooser = new QuestionChooser(this.documents, this.#finder);
  readonly recordQuestion = questionRecord(this.documents);
  #projects = $state.raw<Project[]>([]);
  #project = $state.raw<string | null>(null);
  #rows = $state.raw<DocumentRow[]>([]);
  #isReady = $state(false);
  #tabs = $state.raw<Session[]>([]);
  #current = $state.raw<string | null>(null);
  #span = $state.raw<Span | null>(null);
  #watching: Subscription | null = null;
  #threadId = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The document that is shown. Not `$derived`: that would end with the first component that asks for it. */
  /** The record of shared passages stands in place of the documents. */
  isRecordOpen = $state(false);

  get session(): Session | null {
    return this.#tabs.find((tab) => tab.id === this.#current) ?? null;
  }

  get projects(): Project[] {
    return this.#projects;
  }

  /** The project that the shown conversation sees. */
  get project(): string | null {
    return this.#project;
  }

  get rows(): DocumentRow[] {
    return this.#rows;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get tabs(): Session[] {
    return this.#tabs;
  }

  /** What the editor shall show and mark. */
  get span(): Span | null {
    return this.#span;
  }

  /** Show what a conversation sees, and go on showing it. */
  follow(threadId: string): void {
    if (threadId === this.#threadId && this.#watching) return;
    this.#watching?.unsubscribe();
    this.#threadId = threadId;
    this.#watching = liveQuery(() => this.#look(threadId)).subscribe((found) => {
      this.#projects = found.projects;
      this.#project = found.project;
      this.#rows = found.rows;
      this.#isReady = true;
      for (const tab of this.#tabs) void tab.look();
      this.#readAgain();
    });
  }

  async choose(projectId: string): Promise<void> {
    await this.documents.bind(this.#threadId, projectId);
  }

  async addProject(name: string): Promise<string> {
    const { id } = await this.documents.addProject(name);
    await this.choose(id);
    return id;
  }

  async add(title: string, kind: DocumentKind = 'document', text = ''): Promise<string> {
    const { id } = await this.documents.create({ projectId: await this.#here(), title, kind, text });
    void persist();
    return id;
  }

  /** Take files in; what cannot be read is told, and does not stop the others. */
  async take(files: Iterable<File>): Promise<string[]> {
    const problems: string[] = [];
    for (const file of files) {
      try {
        const { isSource, ...found } = await extract(file);
        const kind = isSource ? 'source' : 'document';
        const projectId = await this.#here();
        await this.documents.create({ projectId, ...found, kind, origin: file.name, by: 'import' });
      } catch (error) {
        if (!(error instanceof DocumentError)) throw error;
        problems.push(error.message);
      }
    }
    void persist();
    return problems;
  }

  /** A page that was fetched becomes a source; its id. */
  async addPage({ title, text, final_url: origin }: PageWire): Promise<string> {
    const projectId = await this.#here();
    const name = title.trim().slice(0, MAX_TITLE) || new URL(origin).hostname;
    const { id } = await this.documents.create({ projectId, title: name, text, kind: 'source', type: 'text', origin, by: 'import' });
    void persist();
    return id;
  }

  async search(query: string, by: By): Promise<Finding> {
    if (this.#project === null) return { hits: [], isByMeaning: false };
    return this.#finder.find(await this.documents.all(this.#project), query, { by, isTyping: true });
  }

  open(id: string, span: Span | null = null): void {
    this.isRecordOpen = false;
    let session = this.#tabs.find((tab) => tab.id === id);
    if (!session) {
      session = new Session(this.documents, id);
      this.#tabs = [...this.#tabs, session];
      void session.look();
    }
    this.#current = id;
    this.#span = span;
  }

  /** Open a span that the wire gave; in another version it is looked for by its words. */
  async openQuote(id: string, wire: WireQuote): Promise<QuoteOutcome> {
    if (await this.#isDeleted(id)) return 'deleted';
    const { span } = await this.locate(id, wire);
    this.open(id, span);
    return span ? 'shown' : 'changed';
  }

  /** A document, and where a span that the wire gave stands in it; null where its words are gone. */
  async locate(id: string, wire: WireQuote): Promise<{ document: Document; span: Span | null }> {
    const document = await this.documents.read(id);
    // A version is the beginning of a hash, which the wire may give in full.
    const isSame = wire.version.startsWith(document.version);
    return { document, span: isSame ? spanOf(document.text, wire) : foundIn(document.text, wire.quote) };
  }

  /** A document that was never here is not a deleted one. */
  async #isDeleted(id: string): Promise<boolean> {
    const { documents, disclosures } = this.documents.db;
    if (await documents.get(id)) return false;
    return (await disclosures.where('documentId').equals(id).count()) > 0;
  }

  async close(id: string): Promise<void> {
    const index = this.#tabs.findIndex((tab) => tab.id === id);
    await this.#tabs[index]?.save();
    this.#tabs = this.#tabs.filter((tab) => tab.id !== id);
    if (this.#current === id) this.#current = (this.#tabs[index] ?? this.#tabs.at(-1))?.id ?? null;
  }

  /** Back to the list; the tabs stay open. */
  leave(): void {
    void this.session?.save();
    this.#current = null;
  }

  async remove(id: string): Promise<void> {
    this.#tabs = this.#tabs.filter((tab) => tab.id !== id);
    if (this.#current === id) this.#current = null;
    await this.documents.remove(id);
  }

  /** Search by meaning follows what changes, a moment later. */
  #readAgain(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read().catch(() => {}), READ_AFTER_MS);
  }

  async #read(): Promise<void> {
    await this.meaning.keepOnly(await this.documents.db.documents.toCollection().primaryKeys());
    if (this.#project !== null && this.meaning.stage === 'ready') await this.meaning.fit(await this.documents.all(this.#project));
  }

  async #here(): Promise<string> {
    return this.#project ?? (await this.documents.projectOf(this.#threadId)) ?? (await this.addProject('My documents'));
  }

  /** In a transaction: one moment for all of it, and a change of any table in it is noticed. */
  #look(threadId: string) {
    const { db } = this.documents;
    return db.transaction('r', db.talks, db.projects, db.documents, async () => {
      const project = await this.documents.projectOf(threadId);
      const rows = project === null ? [] : await this.documents.rows(project);
      return { project, projects: await this.documents.projects(), rows };
    });
  }
}

function spanOf(text: string, { start, end, unit }: WireQuote): Span {
  if (unit === 'bytes') return spanOfBytes(text, { start, end });
  const places = new Positions(text);
  return { start: places.in(start), end: places.in(end) };
}

function foundIn(text: string, quote: string): Span | null {
  const start = quote === '' ? -1 : text.indexOf(quote);
  return start < 0 ? null : { start, end: start + quote.length };
}

let shared: Shelf | undefined;

/** The one shelf of this page. */
export function useShelf(): Shelf {
  if (!shared) {
    shared = new Shelf();
    usePresence().isLikely = true;
  }
  return shared;
}
