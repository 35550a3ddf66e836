import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, it } from 'vitest';
import { sha256 } from '$lib/sha256';
import { Finder } from '../search/finder';
import type { Meaning } from '../search/meaning.svelte';
import { Database } from '../store/database';
import { Documents } from '../store/documents';
import { spanOfBytes } from '../store/positions';
import { QuestionChooser } from './chooser';
import { QuestionContext } from './context.svelte';
import { ADDRESSES, questionRecord } from './disclosure';
import { wireOf } from './passages';

const THREAD = 'thread-1';
const QUESTION = 'How deep is the reef?';
const run = { agent: 'research', threadId: THREAD, words: QUESTION, isNew: false };
const NOTHING = { documents: [], context_urls: [] };
let number = 0;
let documents: Documents;
let project: string;
let chooser: QuestionChooser;
let context: QuestionContext;

beforeEach(async () => {
  documents = new Documents(new Database(`question ${(number += 1)}`));
  project = (await documents.addProject('Reefs')).id;
  await documents.bind(THREAD, project);
  chooser = new QuestionChooser(documents, new Finder());
  context = new QuestionContext(chooser, questionRecord(documents));
});

const add = (title: string, text: string, more = {}) => documents.create({ projectId: project, title, text, ...more });
const choose = (count = 8) => chooser.choose({ threadId: THREAD, words: QUESTION, count });
const shared = () => documents.db.disclosures.toArray();
const addReefs = async (count: number) => {
  for (let at = 0; at < count; at += 1) await add(`reef-${at}.md`, `The reef number ${at} is ${at} metres deep.`);
};

describe('what goes with a question', () => {
  it('is the best eight passages, or as many as were chosen', async () => {
    await addReefs(12);
    expect((await choose()).passages).toHaveLength(8);
    expect((await choose(4)).passages).toHaveLength(4);
    await add('money.md', 'Debts are paid with money.');
    expect((await choose(20)).passages.map(({ document }) => document.title)).not.toContain('money.md');
  });

  it('is of the conversation’s project, also when another one was searched just before', async () => {
    const other = (await documents.addProject('Other')).id;
    await documents.create({ projectId: other, title: 'secret.md', text: 'The secret reef is deep.', origin: 'https://secret.example/' });
    await add('reef.md', 'The reef is deep.');
    await documents.bind('thread-2', other);
    await Promise.all([chooser.choose({ threadId: 'thread-2', words: QUESTION, count: 8 }), choose()]);
    const { passages, pages } = await choose();
    expect([passages.map(({ document }) => document.title), pages]).toEqual([['reef.md'], []]);
  });

  it('is of the documents that the question names, where it names any', async () => {
    await add('reef.md', 'The reef is deep.');
    await add('My reef.md', 'My reef is deeper.', { kind: 'source', origin: 'https://reef.example/' });
    const titles = async (words: string) => {
      const { passages, pages } = await chooser.choose({ threadId: THREAD, words, count: 8 });
      return [...passages.map(({ document }) => document.title), ...pages];
    };
    expect(await titles('How deep is the reef in @reef.md?')).toEqual(['reef.md']);
    expect(await titles('How deep is the reef in @“My reef.md”?')).toEqual(['My reef.md', 'https://reef.example/']);
    expect(await titles('How deep is the reef in @reef.mdx?')).toHaveLength(3);
  });

  it('has the addresses of web pages, at most twenty and each once', async () => {
    await add('file.txt', 'Nothing.', { kind: 'source', origin: 'file.pdf' });
    for (let at = 0; at < 25; at += 1) await add(`page ${at}`, 'Nothing.', { kind: 'source', origin: `https://site.example/${at % 23}` });
    const { passages, pages } = await choose();
    expect([passages, pages.length, new Set(pages).size]).toEqual([[], 20, 20]);
  });

  it('needs no model: words answer while it loads, and when its search fails', async () => {
    await add('reef.md', 'The reef is deep.');
    const never = () => new Promise<never>(() => {});
    const failing = () => Promise.reject(new Error('The worker stopped'));
    for (const meaning of [{ stage: 'loading', load: never }, { stage: 'ready', load: async () => {}, fit: failing, search: failing }]) {
      const finder = new Finder(meaning as unknown as Meaning);
      const { passages } = await new QuestionChooser(documents, finder).choose({ threadId: THREAD, words: QUESTION, count: 8 });
      expect(passages).toHaveLength(1);
    }
  });
});

describe('a passage on the wire', () => {
  it('has its place in bytes, whatever letters stand before it', async () => {
    const filler = 'Zażółć gęślą jaźń – “ryby” 🐟 płyną. '.repeat(30);
    const text = `\uFEFF${filler}The reef 🪸 is très deep. ${filler}`;
    await add('ryby.md', text);
    const { passages } = await choose();
    expect(passages.some((passage) => passage.text.includes('reef 🪸 is très deep'))).toBe(true);
    const bytes = new TextEncoder().encode(text);
    for (const passage of passages) {
      const wire = wireOf(passage) as { start: number; end: number; text: string; version: string };
      const cut = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(wire.start, wire.end));
      expect([cut, wire.version]).toEqual([wire.text, sha256(text)]);
      expect(spanOfBytes(text, wire)).toEqual(passage.span);
    }
  });
});

describe('a question that is sent', () => {
  it('takes along exactly what was recorded before, byte for byte', async () => {
    await addReefs(3);
    await add('emoji.md', '🐟🐟 The deep reef.', { kind: 'source', origin: 'https://site.example/reef' });
    const input = (await context.input(run)) as { documents: Record<string, unknown>[]; context_urls: string[] };
    const rows = await shared();
    const sent = input.documents.map(({ file, title, text }) => [file, title, text, sha256(String(text))]);
    const recorded = rows.filter(({ tool }) => tool !== ADDRESSES).map((row) => [row.documentId, row.title, row.text, row.sha256]);
    expect(recorded.sort()).toEqual(sent.sort());
    expect(rows.filter(({ tool }) => tool === ADDRESSES).map(({ text }) => text)).toEqual([input.context_urls.join('\n')]);
    expect(rows.every((row) => row.why === QUESTION && row.agent === 'research' && row.threadId === THREAD)).toBe(true);
    const emoji = rows.find(({ title }) => title === 'emoji.md')!;
    const { text } = await documents.read(emoji.documentId);
    expect([...text].slice(emoji.start, emoji.end).join('')).toBe(emoji.text);
  });

  it('is what was listed while it was typed', async () => {
    await addReefs(3);
    await context.look(THREAD, QUESTION);
    const listed = context.listOf(THREAD)!;
    expect([listed.isShared, await shared()]).toEqual([false, []]);
    const { documents: sent } = await context.input(run);
    expect(sent).toEqual(listed.passages.map(wireOf));
    expect(context.listOf(THREAD)!.isShared).toBe(true);
  });

  it('leaves out what was removed, again and again, and no other takes its place', async () => {
    await addReefs(10);
    await add('page', 'Nothing.', { kind: 'source', origin: 'https://site.example/reef' });
    await context.look(THREAD, QUESTION);
    const [first] = context.listOf(THREAD)!.passages;
    context.remove(THREAD, first!);
    context.remove(THREAD, 'https://site.example/reef');
    expect(context.listOf(THREAD)!.passages).toHaveLength(7);
    for (let time = 0; time < 2; time += 1) {
      const { documents: sent, context_urls: urls } = (await context.input(run)) as { documents: { text: string }[]; context_urls: string[] };
      expect([sent.length, sent.some(({ text }) => text === first!.text), urls]).toEqual([7, false, []]);
    }
    expect((await shared()).some(({ text }) => text === first!.text)).toBe(false);
    expect(((await context.input({ ...run, threadId: 'thread-9' })) as typeof NOTHING).documents).toHaveLength(8);
  });

  it('takes nothing along when documents are switched off, and clears what the last one took', async () => {
    await addReefs(2);
    context.isOn = false;
    expect(await context.input(run)).toEqual(NOTHING);
    expect(await context.input({ ...run, isNew: true })).toEqual({});
    expect(await shared()).toEqual([]);
  });

  it('chooses again for a follow-up', async () => {
    await add('reef.md', 'The reef is deep.');
    await add('wreck.md', 'The wreck lies in mud.');
    const titles = async (words: string) => {
      const { documents: sent } = (await context.input({ ...run, words })) as { documents: { title: string }[] };
      return sent.map(({ title }) => title);
    };
    expect(await titles('reef')).toEqual(['reef.md']);
    expect(await titles('wreck mud')).toEqual(['wreck.md']);
  });

  it('goes without documents where there is no database, but not without what was listed', async () => {
    await addReefs(2);
    let isBroken = true;
    const choose: QuestionChooser['choose'] = (question) =>
      isBroken ? Promise.reject(new Error('No database')) : chooser.choose(question);
    const broken = new QuestionContext({ choose }, questionRecord(documents));
    expect(await broken.input({ ...run, isNew: true })).toEqual({});
    isBroken = false;
    await broken.look(THREAD, QUESTION);
    isBroken = true;
    await expect(broken.input(run)).rejects.toThrow('could not be read');
  });

  it('is not made when it cannot be recorded', async () => {
    await addReefs(2);
    documents.db.disclosures.hook('creating', () => {
      throw new Error('The disk is full');
    });
    await expect(context.input(run)).rejects.toThrow('nothing was sent');
    expect(await shared()).toEqual([]);
  });
});
