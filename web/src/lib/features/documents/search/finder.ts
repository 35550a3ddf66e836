/**
 * Search over documents by words, by meaning, or by both: the two lists are joined by rank, so that
 * what stands high in either comes first. Until the model is there, words alone answer.
 */
import type { Meaning } from './meaning.svelte';
import { TextIndex, type Found, type Searchable } from './text-index';
import type { Near } from './vectors';

export type By = 'both' | 'words' | 'meaning';
export const BYS: readonly By[] = ['both', 'words', 'meaning'];
export const TOP = 8;

export interface Options {
  most?: number;
  by?: By;
  isTyping?: boolean;
  /** How long to wait for the model and for what is not read yet. */
  patienceMs?: number;
}

export interface Finding {
  hits: Found[];
  /** Whether meaning had a part in it, over all documents. */
  isByMeaning: boolean;
}

/** A person who types does not wait for what is not read yet. */
const SHORT_MS = 100;
/** So many of each list are joined. */
const DEPTH = 50;
/** How fast a rank loses weight, as in reciprocal rank fusion. */
const SLOPE = 60;
/** Passages less like the query than this say nothing about it. */
const UNLIKE = 0.2;
/** A document gives at most so many hits, so that one long text does not hide the others. */
const PER_DOCUMENT = 3;

export class Finder {
  readonly #words = new TextIndex();

  constructor(readonly meaning: Meaning | null = null) {}

  async find(documents: readonly Searchable[], query: string, options: Options = {}): Promise<Finding> {
    const { most = TOP, by = 'both', isTyping = false, patienceMs = SHORT_MS } = options;
    if (query.trim() === '') return { hits: [], isByMeaning: false };
    const [near, isWhole] = by === 'words' ? [null, false] : await this.#near(documents, query, patienceMs);
    if (by === 'meaning' && near) return { hits: near.slice(0, most).map(asFound), isByMeaning: isWhole };
    await this.#words.update(documents);
    const words = this.#words.search(query, DEPTH, { isTyping });
    const like = near?.filter(({ score }) => score >= UNLIKE).map(asFound) ?? [];
    return { hits: few(joined(words, like), documents.length === 1).slice(0, most), isByMeaning: isWhole };
  }

  /** The nearest passages of what has been read in time, and whether that is everything. */
  async #near(documents: readonly Searchable[], query: string, patienceMs: number): Promise<[Near[] | null, boolean]> {
    const { meaning } = this;
    // What could not be loaded is tried again when the person says so, not with every letter.
    if (meaning === null || meaning.stage === 'failed') return [null, false];
    const read = async () => {
      await meaning.load();
      return meaning.stage === 'ready' && (await meaning.fit(documents));
    };
    const isWhole = await Promise.race([read().catch(() => false), after(patienceMs)]);
    if (meaning.stage !== 'ready') return [null, false];
    const versions = new Map(documents.map(({ id, version }) => [id, version]));
    return [await meaning.search(query, versions, DEPTH), isWhole];
  }
}

const after = (ms: number) => new Promise<false>((done) => setTimeout(() => done(false), ms));

const asFound = ({ documentId, start, end, score }: Near): Found => ({ documentId, start, end, score, words: [] });

/** Two lists as one: each passage counts by its places in both. */
export function joined(words: readonly Found[], near: readonly Found[]): Found[] {
  const found = new Map<string, Found>();
  for (const list of [words, near]) {
    for (const [rank, hit] of list.entries()) {
      const key = `${hit.documentId} ${hit.start}`;
      const before = found.get(key);
      const score = (before?.score ?? 0) + 1 / (SLOPE + rank + 1);
      found.set(key, { ...(before ?? hit), score });
    }
  }
  return [...found.values()].sort((a, b) => b.score - a.score);
}

function few(hits: readonly Found[], isOnlyOne: boolean): Found[] {
  const counts = new Map<string, number>();
  return hits.filter(({ documentId }) => {
    const count = counts.get(documentId) ?? 0;
    counts.set(documentId, count + 1);
    return isOnlyOne || count < PER_DOCUMENT;
  });
}
