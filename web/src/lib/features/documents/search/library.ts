/** Keeps the vectors of documents as the documents are, and searches them. Runs in the worker. */
import { sha256 } from '$lib/sha256';
import { chunksOf } from './chunks';
import { keepOnly, type VectorStore } from './vector-store';
import { Vectors, type Embedded, type Near } from './vectors';

export interface Readable {
  id: string;
  version: string;
  text: string;
}

/** Documents by id, each with the version that is meant. */
export type Versions = ReadonlyMap<string, string>;
type Embed = (text: string) => Promise<Float32Array>;
type Passages = Omit<Embedded, 'vectors'> & { texts: string[] };

export class Library {
  readonly #vectors = new Vectors();
  /** Made in a reading that was taken over: the next one need not make them again. */
  readonly #spare = new Map<string, Float32Array>();
  #reading: string[] = [];
  #turn = 0;
  #left = 0;

  constructor(
    private readonly store: Pick<VectorStore, 'documents'>,
    private readonly embed: Embed,
    /** Gives way to what waits, and tells how many passages are still to be read. */
    private readonly pause: (left: number) => Promise<void>,
  ) {}

  /** Read what has changed. False: a newer call took over before it was done. */
  async fit(documents: readonly Readable[]): Promise<boolean> {
    this.#turn += 1;
    const turn = this.#turn;
    const changed: Passages[] = [];
    for (const document of documents) {
      if ((await this.#known(document.id))?.version !== document.version) changed.push(passagesOf(document));
    }
    this.#reading = changed.map(({ id }) => id);
    this.#left = changed.reduce((sum, { texts }) => sum + texts.length, 0);
    for (const passages of changed) {
      const vectors = await this.#read(passages, turn);
      if (vectors === null) return false;
      const { texts: _, ...about } = passages;
      await this.#keep({ ...about, vectors });
    }
    if (turn !== this.#turn) return false;
    this.#spare.clear();
    this.#reading = [];
    return true;
  }

  /** The nearest passages in what has been read; a document that has changed since is left out. */
  async search(query: string, versions: Versions, most: number): Promise<Near[]> {
    const ids = [...versions].filter(([id, version]) => this.#vectors.get(id)?.version === version).map(([id]) => id);
    return this.#vectors.nearest(await this.embed(query), ids, most);
  }

  /** Forget all documents but these. */
  async keepOnly(ids: readonly string[]): Promise<void> {
    const isUnwanted = (id: string) => !ids.includes(id);
    if (this.#reading.some(isUnwanted)) this.#turn += 1;
    for (const id of await keepOnly(this.store, ids)) this.#vectors.delete(id);
  }

  /** The vectors of all passages, one after the other; those that were there before are not made again. */
  async #read({ id, keys, texts }: Passages, turn: number): Promise<Float32Array | null> {
    const known = new Map([...this.#spare, ...rowsOf(this.#vectors.get(id))]);
    const rows: Float32Array[] = [];
    for (const [at, text] of texts.entries()) {
      const before = known.get(keys[at]!);
      const row = before ?? (await this.embed(text));
      rows.push(row);
      this.#left -= 1;
      if (before) continue;
      this.#spare.set(keys[at]!, row);
      await this.pause(this.#left);
      if (turn !== this.#turn) return null;
    }
    return joined(rows);
  }

  async #known(id: string): Promise<Embedded | undefined> {
    const stored = this.#vectors.get(id) ?? (await this.store.documents.get(id));
    if (stored) this.#vectors.put(stored);
    return stored;
  }

  async #keep(document: Embedded): Promise<void> {
    this.#vectors.put(document);
    await this.store.documents.put(document);
  }
}

function passagesOf({ id, version, text }: Readable): Passages {
  const chunks = chunksOf(text);
  const texts = chunks.map(({ start, end }) => text.slice(start, end));
  return { id, version, chunks, texts, keys: texts.map((words) => sha256(words).slice(0, 16)) };
}

function rowsOf(document: Embedded | undefined): [string, Float32Array][] {
  if (!document?.keys.length) return [];
  const size = document.vectors.length / document.keys.length;
  return document.keys.map((key, row) => [key, document.vectors.subarray(row * size, (row + 1) * size)]);
}

function joined(rows: readonly Float32Array[]): Float32Array {
  const size = rows[0]?.length ?? 0;
  const all = new Float32Array(rows.length * size);
  for (const [index, row] of rows.entries()) all.set(row, index * size);
  return all;
}
