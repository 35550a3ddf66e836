/**
 * One document in the editor: what is typed is saved after a moment. When somebody else wrote it
 * meanwhile (an agent's change, another tab), nothing is overwritten: the person chooses.
 */
import { DocumentChanged, DocumentError, type Document, type Documents } from './documents';

const PAUSE_MS = 600;

export class Session {
  #text = $state.raw('');
  #title = $state.raw('');
  #isReady = $state(false);
  #isReadOnly = $state(false);
  #pages = $state.raw<readonly number[]>([]);
  #theirs = $state.raw<Document | null>(null);
  #problem = $state.raw<string | null>(null);
  /** Counts texts that did not come from typing here. */
  #loads = $state(0);
  #saved = $state.raw('');
  #base = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly documents: Documents,
    readonly id: string,
  ) {}

  get isSaved(): boolean {
    return this.#text === this.#saved;
  }

  get text(): string {
    return this.#text;
  }

  get title(): string {
    return this.#title;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Sources stay as they are. */
  get isReadOnly(): boolean {
    return this.#isReadOnly;
  }

  /** Where each page begins in the text; none for a document without pages. */
  get pages(): readonly number[] {
    return this.#pages;
  }

  /** What somebody else wrote while the person was typing. */
  get theirs(): Document | null {
    return this.#theirs;
  }

  get problem(): string | null {
    return this.#problem;
  }

  get loads(): number {
    return this.#loads;
  }

  type(text: string): void {
    this.#text = text;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.save(), PAUSE_MS);
  }

  save(): Promise<void> {
    clearTimeout(this.#timer);
    return this.#next(async () => {
      if (this.#theirs !== null || this.#text === this.#saved) return;
      const text = this.#text;
      try {
        const written = await this.documents.replace(this.id, { text, base: this.#base });
        this.#base = written.version;
        this.#saved = text;
      } catch (error) {
        if (!(error instanceof DocumentChanged)) throw error;
        this.#theirs = await this.documents.read(this.id);
      }
    });
  }

  /** Look whether the document is still what it was; at first: open it. */
  look(): Promise<void> {
    return this.#next(async () => {
      const now = await this.documents.read(this.id);
      this.#title = now.title;
      this.#isReadOnly = now.kind === 'source';
      if (this.#isReady && now.version === this.#base) return;
      if (this.#isReady && this.#text !== this.#saved) this.#theirs = now;
      else this.#load(now);
    });
  }

  takeTheirs(): void {
    if (this.#theirs) this.#load(this.#theirs);
  }

  /** What is typed here becomes the newest version; theirs stays among the versions. */
  async keepMine(): Promise<void> {
    if (!this.#theirs) return;
    this.#base = this.#theirs.version;
    this.#saved = this.#theirs.text;
    this.#theirs = null;
    await this.save();
  }

  /** Go back to an older text; the one that is there now stays a version. */
  async restore(text: string): Promise<void> {
    await this.save();
    this.#text = text;
    this.#loads += 1;
    await this.save();
  }

  #load(document: Document): void {
    this.#theirs = null;
    this.#base = document.version;
    this.#saved = document.text;
    this.#text = document.text;
    this.#pages = document.pages ?? [];
    this.#isReady = true;
    this.#loads += 1;
  }

  #next(run: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(run).then(
      () => void (this.#problem = null),
      (error: unknown) => {
        this.#problem = error instanceof DocumentError ? error.message : String(error);
      },
    );
    return this.#turn;
  }
}
