import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Fields } from '$lib/protocol/wire';
import { exportAll, importAll, wipe } from './backup';
import { Database } from './database';
import { Device, type Read } from './device';
import { DocumentChanged, DocumentError, Documents, versionOf } from './documents';
import { chosen, hunksOf } from './hunks';
import { matchesTitle } from './names';
import { joinPages } from './pages';
import { Positions } from './positions';
import { Proposals } from './proposals';
import { partsOf, verdictOf, type Part } from './review';
import { sha256 } from '$lib/sha256';

const asking = { threadId: 't1', callId: 'c1', agent: 'tutor' };
let number = 0;
let time = 1_000_000;
let db: Database;
let documents: Documents;
let device: Device;
let proposals: Proposals;
let project: string;

beforeEach(async () => {
  db = new Database(`files ${(number += 1)}`);
  const now = () => time;
  documents = new Documents(db, now);
  device = new Device(documents, now);
  proposals = new Proposals(device, now);
  project = (await documents.addProject('Whales')).id;
});

const add = (title: string, text: string) => documents.create({ projectId: project, title, text });
const addPages = (...texts: string[]) =>
  documents.create({ projectId: project, title: 'paper.pdf', kind: 'source', ...joinPages(texts) });
const run = (name: Read, args: Fields, callId = `c${(number += 1)}`) =>
  device.run(name, args, { ...asking, callId }) as Promise<Record<string, never>>;

/** A random source that gives the same every time. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What the platform says, to check ours by. */
async function hashed(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

describe('a hash', () => {
  it('is that of everybody else, at every length around a block', async () => {
    for (const length of [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 1_000, 70_000]) {
      const text = 'a🐋é'.repeat(length).slice(0, length);
      expect(sha256(text)).toBe(await hashed(text));
    }
  });
});

describe('positions', () => {
  it('count as the wire does, there and back', () => {
    const places = new Positions('a🐋b🐋');
    expect(places.total).toBe(4);
    expect([0, 1, 3, 4, 6].map((at) => places.out(at))).toEqual([0, 1, 2, 3, 4]);
    expect([0, 1, 2, 3, 4, 9].map((at) => places.in(at))).toEqual([0, 1, 3, 4, 6, 6]);
  });
});

describe('hunks', () => {
  it('are the lines that differ, with what stays between them', () => {
    const hunks = hunksOf('one\ntwo\nthree\nfour\n', 'one\n2\nthree\n4\n');
    expect(hunks).toEqual([
      { start: 4, old: 'two\n', new: '2\n' },
      { start: 14, old: 'four\n', new: '4\n' },
    ]);
  });

  it('are sentences where a paragraph is one long line', () => {
    const rest = 'Nothing happens here, and it goes on happening for a very long while, until the line is long. ';
    const before = `The whale is a fish. ${rest}It sleeps. ${rest}`;
    const after = `The whale is a mammal. ${rest}It sings. ${rest}`;
    expect(hunksOf(before, after).map((hunk) => hunk.new)).toEqual(['The whale is a mammal. ', 'It sings. ']);
  });

  it('taken all make the new text, taken none leave the old one', () => {
    const roll = dice(7);
    for (let round = 0; round < 300; round += 1) {
      const text = () => Array.from({ length: roll(9) }, () => 'abc'[roll(3)]! + '\n '[roll(2)]!).join('');
      const [before, after] = [text(), text()];
      const hunks = hunksOf(before, after);
      expect(chosen(before, hunks, hunks.map((hunk) => hunk.new))).toBe(after);
      expect(chosen(before, hunks, hunks.map(() => null))).toBe(before);
    }
  });
});

describe('titles', () => {
  it.each([
    ['essay.md', '*.md', true],
    ['Essay.MD', '*.md', true],
    ['notes/essay.md', 'essay.*', true],
    ['essay.md', 'e?say.[a-z]d', true],
    ['essay.md', '[!e]*', false],
    ['essay.md', '*.txt', false],
    ['a'.repeat(300), `${'*a'.repeat(100)}b`, false],
  ])('%s and %s', (title, pattern, fits) => expect(matchesTitle(title, pattern)).toBe(fits));
});

describe('documents', () => {
  it('are named by their text, and every version is kept', async () => {
    const { id, version } = await add('essay.md', 'One.');
    expect(version).toBe((await hashed('One.')).slice(0, 16));
    await documents.replace(id, { text: 'Two.', base: version });
    expect((await documents.read(id)).text).toBe('Two.');
    expect((await documents.versions(id)).map((row) => row.text)).toEqual(['Two.', 'One.']);
  });

  it('are not written over when they have moved on', async () => {
    const { id, version } = await add('essay.md', 'One.');
    await documents.replace(id, { text: 'Two.', base: version });
    await expect(documents.replace(id, { text: 'Three.', base: version })).rejects.toThrow(DocumentChanged);
    expect((await documents.read(id)).text).toBe('Two.');
  });

  it('take typing as one version, until an agent has read it', async () => {
    const { id, version } = await add('essay.md', '');
    let last = version;
    for (const text of ['O', 'On', 'One']) last = (await documents.replace(id, { text, base: last })).version;
    expect(await documents.versions(id)).toHaveLength(1);
    await run('read_user_file', { file_id: id });
    await documents.replace(id, { text: 'One more', base: last });
    expect((await documents.versions(id)).map((row) => row.text)).toEqual(['One more', 'One']);
  });

  it('of the same title get a number', async () => {
    await add('essay.md', 'a');
    expect((await add('Essay.md', 'b')).title).toBe('Essay 2.md');
  });
});

describe('the tools that read', () => {
  it('list, find by title and by type', async () => {
    await add('essay.md', 'One 🐋.');
    await add('plan.txt', 'Two.');
    const listed = await run('list_user_files', {});
    expect(listed).toMatchObject({ files: [{ title: 'essay.md', type: 'markdown', characters: 6 }, { title: 'plan.txt' }] });
    expect(await run('list_user_files', { file_type: 'text' })).toMatchObject({ files: [{ title: 'plan.txt' }] });
    expect(await run('glob_user_files', { pattern: '*.md' })).toMatchObject({ files: [{ title: 'essay.md' }] });
  });

  it('read a part, in characters as the wire counts them', async () => {
    const { id } = await add('essay.md', '🐋🐋 and the sea');
    const part = await run('read_user_file', { file_id: id, offset: 1, limit: 5 });
    expect(part).toMatchObject({ start: 1, total: 14, text: '🐋 and' });
    expect(await run('read_user_file', { file_id: id, offset: 99 })).toMatchObject({ start: 14, text: '' });
  });

  it('find a line, however long it is', async () => {
    await add('essay.md', `first\n${'x'.repeat(2_000)}Needle${'y'.repeat(2_000)}\n`);
    const found = (await run('grep_user_files', { pattern: 'needle' }))['matches'] as unknown as Fields[];
    expect(found).toMatchObject([{ line: 2 }]);
    expect(found[0]?.['text']).toContain('Needle');
    expect((found[0]?.['text'] as string).length).toBe(500);
    expect(await run('grep_user_files', { pattern: 'needle', case_sensitive: true })).toEqual({ matches: [], truncated: false });
  });

  it('search by words and say so', async () => {
    const { id, text } = await add('essay.md', 'Whales sing.\n\nThe sea is deep and cold.');
    await add('plan.txt', 'Buy bread.');
    const found = await run('search_user_files', { query: 'how deep is the sea', top_k: 4 });
    expect(found).toMatchObject({ by: 'words', hits: [{ file_id: id, start: 0, text }] });
  });

  it('say on which pages of a document a part stands, where it has pages', async () => {
    const { id, text } = await addPages('The whale 🐋 sings.', '', 'The squid listens.');
    await add('essay.md', 'The whale sleeps.');
    const files = [{ title: 'essay.md' }, { title: 'paper.pdf', pages: 3 }];
    expect(await run('list_user_files', {})).toMatchObject({ files });
    expect(await run('read_user_file', { file_id: id })).toMatchObject({ text, page: 1, last_page: 3 });
    const offset = new Positions(text).out(text.indexOf('The squid'));
    expect(await run('read_user_file', { file_id: id, offset })).toMatchObject({ page: 3, last_page: 3 });
    expect(await run('grep_user_files', { pattern: 'squid' })).toMatchObject({ matches: [{ line: 5, page: 3 }] });
    expect(await run('search_user_files', { query: 'squid' })).toMatchObject({ hits: [{ page: 1, last_page: 3 }] });
    expect(await run('grep_user_files', { pattern: 'sleeps' })).not.toHaveProperty('matches.0.page');
  });

  it('see one project only, and say what is missing', async () => {
    const other = await documents.addProject('Diary');
    const { id } = await documents.create({ projectId: other.id, title: 'secret.md', text: 'Mine.' });
    await documents.bind('t1', project);
    expect(await run('list_user_files', {})).toMatchObject({ files: [] });
    await expect(run('read_user_file', { file_id: id })).rejects.toThrow(DocumentError);
    await expect(run('read_user_file', { file_id: 7 })).rejects.toThrow("'file_id' must be text");
  });

  it('write down every passage that leaves, once', async () => {
    const { id, version } = await add('essay.md', 'a🐋bc');
    await run('read_user_file', { file_id: id, offset: 1, limit: 2 }, 'read');
    await run('read_user_file', { file_id: id, offset: 1, limit: 2 }, 'read');
    const [row, ...more] = await db.disclosures.toArray();
    expect(more).toEqual([]);
    expect(row).toMatchObject({ documentId: id, version, start: 1, end: 3, bytes: 5, text: '🐋b', agent: 'tutor', tool: 'read_user_file' });
    expect(row!.sha256).toBe(await hashed('🐋b'));
    await run('list_user_files', {}, 'list');
    expect((await db.disclosures.toArray()).find((other) => other.call === 'list')?.text).toBe('essay.md');
  });
});

describe('a proposal', () => {
  const TEXT = 'The whale is a fish.\nIt swims.\nIt is small.\n';
  const NEW = 'The whale is a mammal.\nIt swims.\nIt is large.\n';
  const decide = (parts: Part[], taken: (boolean | string)[], reason = '') =>
    parts.map((part, i) => ({ ...part, isTaken: taken[i] !== false, text: typeof taken[i] === 'string' ? taken[i] : part.text, reason }));

  async function patch(search: string, replace: string, base?: string, id?: string) {
    const document = id ? await documents.read(id) : await add('essay.md', TEXT);
    const args = { file_id: document.id, base_version: base ?? document.version, search, replace, description: 'Be right.' };
    return { document, args, prepared: await proposals.prepare('patch_user_file', args, asking) };
  }

  async function decided(taken: (boolean | string)[], reason = '') {
    const { document, args, prepared } = await patch(TEXT, NEW);
    if (!('proposal' in prepared)) throw new Error('no proposal');
    const parts = decide(partsOf(prepared.proposal), taken, reason);
    const verdict = verdictOf(prepared.proposal, parts);
    const result = await proposals.settle('patch_user_file', args, asking, prepared.proposal, verdict);
    return { id: document.id, result, text: (await documents.read(document.id)).text };
  }

  it('taken whole is applied', async () => {
    const { id, result, text } = await decided([true, true]);
    expect(text).toBe(NEW);
    expect(result).toEqual({ status: 'applied', file_id: id, version: versionOf(NEW) });
    expect((await documents.versions(id))[0]).toMatchObject({ by: 'agent', why: 'Be right.' });
  });

  it('taken in part tells what was written and what was refused, and why', async () => {
    const { id, result, text } = await decided([true, false], 'It is not large.');
    expect(text).toBe('The whale is a mammal.\nIt swims.\nIt is small.\n');
    const refused = [{ text: 'It is large.\n', reason: 'It is not large.' }];
    expect(result).toMatchObject({ status: 'partly', file_id: id, version: versionOf(text), text, refused });
    expect(await db.disclosures.toArray()).toMatchObject([{ tool: 'patch_user_file', text, why: 'Be right.' }]);
  });

  it('edited before it is taken is partly, with the words of the person', async () => {
    const { result, text } = await decided(['The whale is no fish.\n', true]);
    expect(text).toBe('The whale is no fish.\nIt swims.\nIt is large.\n');
    expect(result).toMatchObject({ status: 'partly', text, refused: [] });
  });

  it('refused changes nothing and gives the reasons', async () => {
    const { result, text } = await decided([false, false], 'No.');
    expect(text).toBe(TEXT);
    expect(result).toMatchObject({ status: 'refused', reason: 'No.' });
    expect(await db.disclosures.count()).toBe(0);
  });

  it('for a version that is gone is a conflict, with what is there now', async () => {
    const { prepared } = await patch('fish', 'mammal', 'another');
    expect(prepared).toMatchObject({ answer: { status: 'conflict', version: versionOf(TEXT), text: TEXT } });
    expect(await db.disclosures.count()).toBe(1);
  });

  it('whose document is changed while the person decides is a conflict too', async () => {
    const { document, args, prepared } = await patch('fish', 'mammal');
    if (!('proposal' in prepared)) throw new Error('no proposal');
    await documents.replace(document.id, { text: 'Mine.', base: document.version });
    const verdict = { text: prepared.proposal.after, refused: [], reason: '' };
    const result = await proposals.settle('patch_user_file', args, asking, prepared.proposal, verdict);
    expect(result).toMatchObject({ status: 'conflict', text: 'Mine.' });
    expect((await documents.read(document.id)).text).toBe('Mine.');
  });

  it('that does not fit is an error for the agent', async () => {
    expect((await patch('shark', 'x')).prepared).toMatchObject({ answer: { error: expect.stringContaining('was not found') } });
    expect((await patch('It', 'x')).prepared).toMatchObject({ answer: { error: expect.stringContaining('2 times') } });
    const source = await documents.create({ projectId: project, title: 'paper.txt', text: 'Quote.', kind: 'source' });
    const { prepared } = await patch('Quote.', 'x', undefined, source.id);
    expect(prepared).toMatchObject({ answer: { error: expect.stringContaining('is a source') } });
  });

  it('is decided once, whatever happens to the page', async () => {
    const { document, args, prepared } = await patch('fish', 'mammal');
    if (!('proposal' in prepared)) throw new Error('no proposal');
    const { proposal } = prepared;
    const first = await proposals.settle('patch_user_file', args, asking, proposal, { text: proposal.after, refused: [], reason: '' });
    const again = await proposals.settle('patch_user_file', args, asking, proposal, { text: null, refused: [], reason: 'no' });
    expect(again).toEqual(first);
    expect(await proposals.decided(asking)).toEqual(first);
    expect(await documents.versions(document.id)).toHaveLength(2);
  });

  it('of a new document keeps dollar signs and makes it', async () => {
    const args = { title: 'Costs', content: 'It is $& and $1.', file_type: 'markdown', description: 'Count.' };
    const prepared = await proposals.prepare('write_user_file', args, asking);
    if (!('proposal' in prepared)) throw new Error('no proposal');
    const parts = decide(partsOf(prepared.proposal), [true]);
    const result = await proposals.settle('write_user_file', args, asking, prepared.proposal, verdictOf(prepared.proposal, parts));
    expect(result).toMatchObject({ status: 'applied' });
    expect(await documents.all(project)).toMatchObject([{ title: 'Costs.md', text: 'It is $& and $1.' }]);
    expect(await proposals.prepare('write_user_file', args, asking)).toMatchObject({ answer: { error: expect.stringContaining('already') } });
  });
});

describe('a backup', () => {
  async function filled() {
    const { id, version } = await add('essay.md', 'One 🐋.');
    await documents.replace(id, { text: 'Two.', base: version });
    await run('read_user_file', { file_id: id });
    return id;
  }

  it('brings everything back after everything is gone', async () => {
    await filled();
    const file = await exportAll(db, 5);
    await wipe(db);
    expect(await db.documents.count()).toBe(0);
    expect(await importAll(db, file)).toEqual({ documents: 1, projects: 1, more: [] });
    expect(JSON.parse(await exportAll(db, 5))).toEqual(JSON.parse(file));
  });

  it('keeps the pages of a document, and takes none that are not in its text', async () => {
    const { id, pages } = await addPages('One.', 'Two.');
    const file = await exportAll(db, 5);
    await wipe(db);
    await importAll(db, file);
    expect((await documents.read(id)).pages).toEqual(pages);
    await wipe(db);
    await expect(importAll(db, file.replace('"pages":[0,6]', '"pages":[0,600]'))).rejects.toThrow(DocumentError);
    expect(await db.documents.count()).toBe(0);
  });

  it('joined with what is here loses no version, and the newest counts', async () => {
    const id = await filled();
    const file = await exportAll(db, 5);
    time += 1_000_000;
    await documents.replace(id, { text: 'Three.', base: versionOf('Two.') });
    await importAll(db, file);
    expect((await documents.read(id)).text).toBe('Three.');
    expect((await documents.versions(id)).map((row) => row.text)).toEqual(['Three.', 'Two.', 'One 🐋.']);
  });

  it('that is damaged changes nothing', async () => {
    await filled();
    const file = await exportAll(db, 5);
    await wipe(db);
    for (const bad of ['', '[]', '{"format":"other"}', file.replace('"Two."', '"Too."'), file.replace('"source"', '"x"').replace('"projects":[', '"projects":[7,')]) {
      await expect(importAll(db, bad)).rejects.toThrow(DocumentError);
      expect(await db.documents.count()).toBe(0);
    }
  });
});
