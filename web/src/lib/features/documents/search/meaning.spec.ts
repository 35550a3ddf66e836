import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, it } from 'vitest';
import { Finder, joined } from './finder';
import { Library } from './library';
import type { Meaning } from './meaning.svelte';
import type { Found } from './text-index';
import { VectorStore } from './vector-store';
import { Vectors } from './vectors';

/** A meaning with four sides: how much a text speaks of the sea, of money, of light, of anything. */
function meant(text: string): Float32Array {
  const count = (words: RegExp) => text.match(words)?.length ?? 0;
  const raw = [count(/sea|fish|whale/gi), count(/money|debt/gi), count(/light|glow/gi), 0.1];
  const length = Math.hypot(...raw);
  return Float32Array.from(raw, (value) => value / length);
}

const document = (id: string, text: string, version = text) => ({ id, title: id, version, text });
const versions = (...documents: { id: string; version: string }[]) => new Map(documents.map(({ id, version }) => [id, version]));

describe('vectors', () => {
  it('gives the nearest first, and as many as were asked for', () => {
    const vectors = new Vectors();
    const rows = ['whale', 'debt', 'the sea and its light'];
    const chunks = rows.map((_, at) => ({ start: at, end: at + 1 }));
    vectors.put({ id: 'a', version: '1', chunks, keys: rows, vectors: Float32Array.from(rows.flatMap((row) => [...meant(row)])) });
    expect(vectors.nearest(meant('fish'), ['a'], 2).map(({ start }) => start)).toEqual([0, 2]);
    expect(vectors.nearest(meant('fish'), ['b'], 2)).toEqual([]);
  });
});

describe('the library', () => {
  let embedded: string[];
  let store: VectorStore;
  const library = (pause: (left: number) => Promise<void> = async () => {}) =>
    new Library(store, async (text) => (embedded.push(text), meant(text)), pause);

  beforeEach(async () => {
    embedded = [];
    store = new VectorStore();
    await store.documents.clear();
  });

  it('reads what it does not know, and remembers it in a new library', async () => {
    const [a, b] = [document('a', 'money'), document('b', 'fish')];
    expect(await library().fit([a, b])).toBe(true);
    expect(embedded).toEqual(['money', 'fish']);
    const next = library();
    await next.fit([a, b]);
    expect(embedded).toHaveLength(2);
    expect((await next.search('whale', versions(a, b), 1))[0]?.documentId).toBe('b');
  });

  it('reads only the passages that an edit changed', async () => {
    const part = (name: string) => `${name} `.repeat(60).trim() + '.\n\n';
    const shelf = library();
    await shelf.fit([document('a', part('money') + part('fish') + part('light'))]);
    const before = embedded.length;
    await shelf.fit([document('a', part('money') + part('fish') + part('light') + 'The end.')]);
    expect(embedded.length - before).toBeLessThan(before);
  });

  it('leaves out a document that has changed since it was read', async () => {
    const shelf = library();
    await shelf.fit([document('a', 'fish')]);
    expect(await shelf.search('fish', versions(document('a', 'debt')), 8)).toEqual([]);
  });

  it('lets a newer reading take over, and makes no vector twice', async () => {
    const text = Array.from({ length: 300 }, (_, at) => `fish ${at}`).join(' ');
    const readings: Promise<boolean>[] = [];
    const shelf: Library = library(async () => {
      if (embedded.length === 2) readings.push(shelf.fit([document('a', text), document('b', 'debt')]));
    });
    expect(await shelf.fit([document('a', text)])).toBe(false);
    expect(await readings[0]).toBe(true);
    expect(new Set(embedded).size).toBe(embedded.length);
    expect(embedded).toContain('debt');
  });

  it('forgets a document, also one that is being read', async () => {
    const shelf: Library = library(async () => {
      if (embedded.length === 2) await shelf.keepOnly(['a']);
    });
    await shelf.fit([document('a', 'fish')]);
    expect(await shelf.fit([document('b', 'debt '.repeat(400))])).toBe(false);
    expect(await store.documents.toCollection().primaryKeys()).toEqual(['a']);
  });
});

describe('the finder', () => {
  const hit = (documentId: string, start = 0): Found => ({ documentId, start, end: start + 1, score: 1, words: [] });

  it('joins by rank: what is in both lists comes first', () => {
    const both = joined([hit('a'), hit('b')], [hit('c'), hit('b')]);
    expect(both.map(({ documentId }) => documentId)).toEqual(['b', 'a', 'c']);
  });

  const documents = [document('a', 'Whales sing.'), document('b', 'Our debt grew.'), document('c', 'It may glow.')];

  /** Search by meaning without a worker. */
  async function ready(): Promise<Meaning> {
    const library = new Library(new VectorStore(), async (text) => meant(text), async () => {});
    const fit = (all: typeof documents) => library.fit(all);
    return { stage: 'ready', load: async () => {}, fit, search: library.search.bind(library) } as unknown as Meaning;
  }

  it('finds by meaning what has no word in common', async () => {
    const finder = new Finder(await ready());
    const { hits, isByMeaning } = await finder.find(documents, 'fish of the sea', { patienceMs: 5_000 });
    expect([hits[0]?.documentId, isByMeaning]).toEqual(['a', true]);
    expect((await finder.find(documents, 'fish of the sea', { by: 'words' })).hits).toEqual([]);
  });

  it('does not try to load again what could not be loaded', async () => {
    let loads = 0;
    const failed = { stage: 'failed', load: async () => void (loads += 1) } as unknown as Meaning;
    const found = await new Finder(failed).find(documents, 'debt');
    expect([loads, found.isByMeaning, found.hits.length]).toEqual([0, false, 1]);
  });

  it('says that it is by words while the model is not there', async () => {
    const loading = { stage: 'loading', load: () => new Promise(() => {}) } as unknown as Meaning;
    const found = await new Finder(loading).find(documents, 'debt', { patienceMs: 1 });
    expect(found).toMatchObject({ isByMeaning: false, hits: [{ documentId: 'b' }] });
  });
});
