/** Passages by the vectors of their meaning: the nearest ones to a query, by looking at all of them. */
import type { Chunk } from './chunks';

/** What is known of a document: its passages, and their vectors one after the other. */
export interface Embedded {
  id: string;
  version: string;
  chunks: Chunk[];
  /** The hash of each passage's text, so that an edit embeds only what it changed. */
  keys: string[];
  vectors: Float32Array;
}

export interface Near extends Chunk {
  documentId: string;
  /** The cosine of the angle to the query. */
  score: number;
}

export class Vectors {
  readonly #documents = new Map<string, Embedded>();

  get(id: string): Embedded | undefined {
    return this.#documents.get(id);
  }

  put(document: Embedded): void {
    this.#documents.set(document.id, document);
  }

  delete(id: string): void {
    this.#documents.delete(id);
  }

  clear(): void {
    this.#documents.clear();
  }

  /** The nearest passages of some documents; vectors have the length one. */
  nearest(query: Float32Array, ids: Iterable<string>, most: number): Near[] {
    const best: Near[] = [];
    for (const id of ids) {
      const document = this.#documents.get(id);
      if (!document) continue;
      for (const [row, chunk] of document.chunks.entries()) {
        const score = dot(query, document.vectors, row * query.length);
        if (best.length === most && score <= best.at(-1)!.score) continue;
        const place = best.findIndex((other) => other.score < score);
        best.splice(place < 0 ? best.length : place, 0, { ...chunk, documentId: id, score });
        best.length = Math.min(best.length, most);
      }
    }
    return best;
  }
}

function dot(query: Float32Array, vectors: Float32Array, from: number): number {
  let [a, b, c, d] = [0, 0, 0, 0]; // four sums at once: the length is a multiple of four
  for (let at = 0; at < query.length; at += 4) {
    a += query[at]! * vectors[from + at]!;
    b += query[at + 1]! * vectors[from + at + 1]!;
    c += query[at + 2]! * vectors[from + at + 2]!;
    d += query[at + 3]! * vectors[from + at + 3]!;
  }
  return a + b + c + d;
}
