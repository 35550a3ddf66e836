import 'fake-indexeddb/auto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { appOn } from '../../../../tests/app-in-test';
import { installed } from '$lib/extensions/installed';
import { sha256 } from '$lib/sha256';
import type { AppState } from '$lib/state/app.svelte';
import { useShelf } from '../documents/store/shelf.svelte';
import { citedPages } from './document-quote';
import { documentOf } from './document-source';
import { hostOf, type Quote, type SourceInfo } from './report';
import { sourceOpener, type SourceOpener } from './source-opener';
import { useSourceReader } from './source-reader.svelte';

const TEXT = 'Żółw 🐢 płynie. The reef 🪸 is 40 metres deep. Koniec.';
const PASSAGE = 'The reef 🪸 is 40 metres deep.';
const WORDS = '40 metres';
const bytes = (text: string) => new TextEncoder().encode(text).length;
const before = (text: string, words: string) => bytes(text.slice(0, text.indexOf(words)));
const quote: Quote = { id: 'q', snapshot: 's', start: before(PASSAGE, WORDS), end: before(PASSAGE, WORDS) + bytes(WORDS), text: WORDS };
const shelf = useShelf();
let app: AppState;
let open: SourceOpener;
let file: string;

const sourceOf = (id: string, text = TEXT) => {
  const start = before(text, PASSAGE);
  const final_url = `document:${encodeURIComponent(id)}?version=${sha256(text)}#bytes=${start}-${start + bytes(PASSAGE)}`;
  return { id: 's', final_url, origin: 'client', title: 'reef.md' } as SourceInfo;
};
const marked = async () => {
  const { text } = await shelf.documents.read(shelf.session!.id);
  return shelf.span && text.slice(shelf.span.start, shelf.span.end);
};
const share = (documentId: string) =>
  shelf.documents.db.disclosures.put({ id: documentId, documentId, threadId: 't', at: 1, text: PASSAGE } as never);

beforeEach(async () => {
  await Promise.all(shelf.documents.db.tables.map((table) => table.clear()));
  app = appOn({});
  app.show(null);
  app.layout.show('plan');
  app.api.send = vi.fn(async () => ({ id: 's', text: PASSAGE })) as never;
  open = sourceOpener(app, installed);
  const { id: projectId } = await shelf.documents.addProject('Reefs');
  file = (await shelf.documents.create({ projectId, title: 'reef.md', text: TEXT })).id;
});

afterEach(() => {
  app.conversation.close();
  vi.unstubAllGlobals();
});

it('opens a quote of a document in the document, at its words', async () => {
  await open(sourceOf(file), quote);
  expect([await marked(), app.layout.panel]).toEqual([WORDS, 'documents']);
  await open(sourceOf(file));
  expect(await marked()).toBe(PASSAGE);
});

it('looks for the words in a document that has changed', async () => {
  const { version } = await shelf.documents.read(file);
  await shelf.documents.replace(file, { text: `New 🐟 words. ${TEXT}`, base: version });
  await open(sourceOf(file), quote);
  expect([await marked(), app.layout.panel]).toEqual([WORDS, 'documents']);
});

it('cites the page of a quote where the document is here and has pages', async () => {
  expect(await citedPages(sourceOf(file), quote, installed)).toBe('');
  expect(await citedPages(sourceOf('doc-elsewhere'), quote, installed)).toBe('');
  const { projectId } = await shelf.documents.read(file);
  const pages = [0, TEXT.indexOf('The reef'), TEXT.indexOf('40'), TEXT.indexOf('Koniec')];
  const { id } = await shelf.documents.create({ projectId, title: 'reef.pdf', text: TEXT, pages });
  expect(await citedPages(sourceOf(id), quote, installed)).toBe('p.\u00a03');
  expect(await citedPages(sourceOf(id), null, installed)).toBe('pp.\u00a02–3');
});

it('says that the words are gone, or the document, and shows the passage as it was shared', async () => {
  const reading = useSourceReader();
  const { version } = await shelf.documents.read(file);
  await shelf.documents.replace(file, { text: 'All is new.', base: version });
  await open(sourceOf(file), quote);
  expect([app.layout.panel, reading.sourceOf(app.conversation.id)]).toEqual(['sources', 's']);
  expect(reading.note).toContain('no longer contains these words');
  await share(file);
  await shelf.remove(file);
  await open(sourceOf(file), quote);
  expect(reading.note).toContain('You deleted this document');
});

it('shows the stored text on a device that never had the document', async () => {
  await open(sourceOf('doc-elsewhere'), quote);
  const reading = useSourceReader();
  expect([app.layout.panel, reading.quoteOf(app.conversation.id), reading.note]).toEqual(['sources', 'q', '']);
});

it('reads addresses of documents, and no others', () => {
  const source = sourceOf('a b/ć?#');
  expect(documentOf(source.final_url)).toMatchObject({ file: 'a b/ć?#', version: sha256(TEXT), start: before(TEXT, PASSAGE) });
  expect(hostOf(source)).toBe('');
  for (const url of ['https://site.example/', 'document:a', `document:%E0?version=${sha256('')}#bytes=0-1`, 'document:a?version=1#bytes=0-1']) {
    expect(documentOf(url)).toBeNull();
  }
});
