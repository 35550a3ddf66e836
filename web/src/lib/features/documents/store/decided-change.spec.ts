import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Proposal } from '$lib/stream/view';
import { Database } from './database';
import { decidedChange, undoChange } from './decided-change';
import { DocumentChanged, Documents } from './documents';

let number = 0;
let documents: Documents;
let id: string;
let outcome: Proposal;

beforeEach(async () => {
  documents = new Documents(new Database(`decided ${(number += 1)}`));
  const project = await documents.addProject('Whales');
  const document = await documents.create({ projectId: project.id, title: 'Whale.md', text: 'A fish.\nIt swims.\n' });
  id = document.id;
  const changed = await documents.replace(id, { text: 'A mammal.\nIt swims.\nIt sings.\n', base: document.version, by: 'agent' });
  outcome = { status: 'applied', fileId: id, version: changed.version };
});

describe('a change that was accepted', () => {
  it('is known by its document and its lines, and can be undone', async () => {
    const change = { title: 'Whale.md', isNew: false, lines: { added: 2, removed: 1 } };
    expect(await decidedChange(documents, outcome)).toEqual({ ...change, now: 'changed' });
    await undoChange(documents, outcome);
    expect((await documents.read(id)).text).toBe('A fish.\nIt swims.\n');
    expect(await decidedChange(documents, outcome)).toEqual({ ...change, now: 'undone' });
  });

  it('is not undone where something was written since', async () => {
    await documents.replace(id, { text: 'Mine.', base: outcome.version! });
    expect(await decidedChange(documents, outcome)).toMatchObject({ now: 'other' });
    await expect(undoChange(documents, outcome)).rejects.toThrow(DocumentChanged);
    expect((await documents.read(id)).text).toBe('Mine.');
  });

  it('may be a whole new document', async () => {
    const { projectId } = await documents.read(id);
    const made = await documents.create({ projectId, title: 'New.md', text: 'a\nb\n', by: 'agent' });
    const found = await decidedChange(documents, { status: 'applied', fileId: made.id, version: made.version });
    expect(found).toEqual({ title: 'New.md', isNew: true, lines: { added: 2, removed: 0 }, now: 'changed' });
  });

  it('of a document that is not in this browser is not known', async () => {
    expect(await decidedChange(documents, { ...outcome, fileId: 'doc-0' })).toBeNull();
    expect(await decidedChange(documents, { status: 'refused', fileId: null, version: null })).toBeNull();
  });
});
