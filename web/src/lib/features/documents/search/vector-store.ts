/** Cached vectors of the documents; they can be recomputed. */
import Dexie, { type EntityTable } from 'dexie';
import type { Embedded } from './vectors';

export class VectorStore extends Dexie {
  declare documents: EntityTable<Embedded, 'id'>;

  constructor() {
    super('bathysphere-meaning');
    this.version(1).stores({ documents: 'id' });
  }
}

/** Forget all documents but these; the ids of those that are gone. */
export async function keepOnly(store: Pick<VectorStore, 'documents'>, ids: readonly string[]): Promise<string[]> {
  const wanted = new Set(ids);
  const gone = (await store.documents.toCollection().primaryKeys()).filter((id) => !wanted.has(id));
  if (gone.length) await store.documents.bulkDelete(gone);
  return gone;
}
