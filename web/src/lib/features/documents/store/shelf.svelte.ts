/** What the page shows of the documents: kept up to date by the database, in every tab. */
import { liveQuery, type Subscription } from 'dexie';
import type { PageWire } from '$lib/protocol/api';
import { Finder, type By, type Finding } from '../search/finder';
import { Meaning } from '../search/meaning.svelte';
import { database, type DocumentKind, type DocumentRow, type Project } from './database';
import { Device } from './device';
import { DocumentError, Documents } from './documents';
import { extract } from './text-extraction';
import { MAX_TITLE } from './names';
import { Positions } from './positions';
import { Proposals } from './proposals';
import { Session } from './session.svelte';
import { persist } from '$lib/persistence';

const READ_AFTER_MS = 1_000;

export interface Span {
  start: number;
  end: number;
}

export class Shelf {
  readonly documents = new Documents(database());
  readonly meaning = new Meaning();
  readonly #finder = new Finder(this.meaning);
  readonly device = new Device(this.documents, Date.now, this.#finder);
  readonly proposals = new Proposals(this.device);
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
        const { title, text, isSource } = await extract(file);
        const kind = isSource ? 'source' : 'document';
        const projectId = await this.#here();
        await this.documents.create({ projectId, title, text, kind, origin: file.name, by: 'import' });
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
  async openQuote(id: string, wire: Span & { version: string; quote: string }): Promise<void> {
    const { text, version } = await this.documents.read(id);
    const places = new Positions(text);
    const span = { start: places.in(wire.start), end: places.in(wire.end) };
    const at = version === wire.version ? -1 : text.indexOf(wire.quote);
    this.open(id, at < 0 ? span : { start: at, end: at + wire.quote.length });
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

let shared: Shelf | undefined;

/** The one shelf of this page. */
export function useShelf(): Shelf {
  shared ??= new Shelf();
  return shared;
}
