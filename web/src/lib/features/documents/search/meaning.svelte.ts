/**
 * Search by meaning, as the page sees it. The model is fetched from this origin when it is first
 * wanted, and everything happens in a worker on this device.
 */
import type { Readable, Versions } from './library';
import type { Call, News, WorkerRequest } from './worker-protocol';
import { keepOnly, VectorStore } from './vector-store';
import type { Near } from './vectors';

export type Stage = 'off' | 'loading' | 'ready' | 'failed';

const startWorker = () => new Worker(new URL('./meaning.worker.ts', import.meta.url), { type: 'module' });

export class Meaning {
  #stage = $state<Stage>('off');
  #share = $state(0);
  #left = $state(0);
  #readings = $state(0);
  #worker: Worker | null = null;
  #loading: Promise<void> | null = null;
  #waiting = new Map<number, { done: (result: unknown) => void; fail: (error: Error) => void }>();
  #asked = 0;
  /** The version of each document that the worker has read. */
  #read = new Map<string, string>();
  #fitting: { key: string; isDone: Promise<boolean> } | null = null;

  constructor(private readonly start: () => Worker = startWorker) {}

  get stage(): Stage {
    return this.#stage;
  }

  /** How much of the model has come, of 1. */
  get share(): number {
    return this.#share;
  }

  /** Passages that are still to be read. */
  get left(): number {
    return this.#left;
  }

  /** Counts the times that something more was read. */
  get readings(): number {
    return this.#readings;
  }

  /** Fetch the model, once. What fails is told by `stage`, and can be tried again. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Read what has changed in these documents; true when all of them are read. */
  async fit(documents: readonly Readable[]): Promise<boolean> {
    const changed = documents.filter(({ id, version }) => this.#read.get(id) !== version);
    if (!changed.length) return true;
    const key = changed.map(({ id, version }) => `${id} ${version}`).join();
    if (this.#fitting?.key === key) return this.#fitting.isDone;
    const fitting = { key, isDone: this.#fit(changed) };
    this.#fitting = fitting;
    try {
      return await fitting.isDone;
    } finally {
      if (this.#fitting === fitting) this.#fitting = null; // what was taken over can be asked for again
    }
  }

  async search(query: string, versions: Versions, most: number): Promise<Near[]> {
    const start = performance.now();
    const found = (await this.#ask({ kind: 'search', query, versions, most })) as Near[];
    performance.measure('search by meaning', { start });
    return found;
  }

  /** Forget the vectors of all documents but these. */
  async keepOnly(ids: readonly string[]): Promise<void> {
    for (const id of [...this.#read.keys()].filter((id) => !ids.includes(id))) this.#read.delete(id);
    if (this.#worker) await this.#ask({ kind: 'keepOnly', ids });
    else await keepOnly(new VectorStore(), ids);
  }

  async #fit(changed: readonly Readable[]): Promise<boolean> {
    const isDone = (await this.#ask({ kind: 'fit', documents: changed })) as boolean;
    if (!isDone) return false;
    this.#left = 0;
    for (const { id, version } of changed) this.#read.set(id, version);
    this.#readings += 1;
    return true;
  }

  async #load(): Promise<void> {
    this.#stage = 'loading';
    this.#worker = this.start();
    this.#worker.onmessage = ({ data }: MessageEvent<News>) => this.#hear(data);
    this.#worker.onerror = ({ message }) => this.#fail(message);
    try {
      await this.#ask({ kind: 'load' });
      this.#stage = 'ready';
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #ask(call: Call): Promise<unknown> {
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail });
      this.#worker?.postMessage({ id, call } satisfies WorkerRequest);
    });
  }

  #hear(news: News): void {
    if (news.kind === 'progress') this.#share = news.loaded / news.total;
    else if (news.kind === 'left') this.#left = news.left;
    else {
      const waiting = this.#waiting.get(news.id);
      this.#waiting.delete(news.id);
      if (news.kind === 'answer') waiting?.done(news.result);
      else waiting?.fail(new Error(news.message));
    }
  }

  #fail(message: string): void {
    this.#stage = 'failed';
    this.#loading = null;
    this.#worker?.terminate();
    this.#worker = null;
    this.#fitting = null;
    this.#read.clear();
    for (const { fail } of this.#waiting.values()) fail(new Error(message));
    this.#waiting.clear();
  }
}
