/** Full text search over documents: passages that have the words, best first (BM25+). */
import MiniSearch from 'minisearch';
import { chunksOf, type Chunk } from './chunks';

export interface Searchable {
  id: string;
  title: string;
  version: string;
  text: string;
}

export interface Found extends Chunk {
  documentId: string;
  score: number;
  /** The words of the query that were found, as they stand in the index. */
  words: string[];
}

interface Passage extends Chunk {
  id: string;
  documentId: string;
  title: string;
  text: string;
}

/** Indexing gives way to the page after so many passages. */
const AT_ONCE = 20;
/** A document gives at most so many hits, so that one long text does not hide the others. */
const PER_DOCUMENT = 3;

export class TextIndex {
  #index = new MiniSearch<Passage>({
    fields: ['title', 'text'],
    storeFields: ['documentId', 'start', 'end'],
    searchOptions: { boost: { title: 1.5 }, combineWith: 'OR' },
  });
  /** Document → what is indexed of it. */
  #known = new Map<string, { version: string; title: string; passages: Passage[] }>();
  #turn: Promise<void> = Promise.resolve();

  get size(): number {
    return this.#index.documentCount;
  }

  /** Make the index fit these documents; only what has changed is read again. */
  update(documents: readonly Searchable[]): Promise<void> {
    this.#turn = this.#turn.then(() => this.#fit(documents));
    return this.#turn;
  }

  search(query: string, most: number, { isTyping = false } = {}): Found[] {
    const counts = new Map<string, number>();
    const options = isTyping ? { prefix: true, fuzzy: (word: string) => (word.length > 5 ? 0.2 : false) } : {};
    return this.#index
      .search(query, options)
      .map((hit) => ({
        documentId: hit['documentId'] as string,
        start: hit['start'] as number,
        end: hit['end'] as number,
        score: hit.score,
        words: hit.terms,
      }))
      .filter(({ documentId }) => {
        const count = counts.get(documentId) ?? 0;
        counts.set(documentId, count + 1);
        return count < PER_DOCUMENT || this.#known.size === 1;
      })
      .slice(0, most);
  }

  async #fit(documents: readonly Searchable[]): Promise<void> {
    const wanted = new Map(documents.map((document) => [document.id, document]));
    for (const [id, { version, title, passages }] of this.#known) {
      const now = wanted.get(id);
      if (now?.version === version && now.title === title) continue;
      for (const passage of passages) this.#index.remove(passage);
      this.#known.delete(id);
    }
    for (const { id, title, version, text } of documents) {
      if (this.#known.has(id)) continue;
      const passages = chunksOf(text).map((chunk) => ({
        ...chunk,
        id: `${id} ${chunk.start}`,
        documentId: id,
        title,
        text: text.slice(chunk.start, chunk.end),
      }));
      await this.#index.addAllAsync(passages, { chunkSize: AT_ONCE });
      this.#known.set(id, { version, title, passages });
    }
  }
}
