import 'fake-indexeddb/auto';
import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import type { Transaction } from 'dexie';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeLocks, FakeServer } from '../../../../../tests/fake-server';
import { renderInApp } from '../../../../../tests/app-in-test';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from '$lib/state/app.svelte';
import documentsFeature from '../index';
import { useShelf } from '../store/shelf.svelte';
import QuestionHeader from '../ui/QuestionHeader.svelte';
import { useQuestionContext } from './context.svelte';

const QUESTION = 'How deep is the reef?';
let server: FakeServer;
let app: AppState;
const inputs = () => server.sent('run.start').map(({ body }) => (body['params'] as { input: Record<string, unknown> }).input);
const { documents } = useShelf();

beforeEach(async () => {
  server = new FakeServer();
  vi.stubGlobal('fetch', server.fetch);
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
  vi.spyOn(useShelf().meaning, 'load').mockResolvedValue();
  await Promise.all(documents.db.tables.map((table) => table.clear()));
  const { id: projectId } = await documents.addProject('Reefs');
  await documents.create({ projectId, title: 'reef.md', text: 'Żółw 🐢. The reef is 40 metres deep.' });
  app = new AppState(new Api(), installed);
  app.show(null);
  app.agents.choose('research');
  documentsFeature.start(app);
});

afterEach(() => {
  cleanup();
  app.conversation.close();
  vi.unstubAllGlobals();
  useQuestionContext().isOn = true;
  localStorage.clear();
  sessionStorage.clear();
});

it('sends passages with a question to the researcher, recorded before the request', async () => {
  const order: string[] = [];
  const note = (_key: unknown, _row: unknown, transaction: Transaction) => {
    transaction.on('complete', () => order.push('recorded'));
  };
  documents.db.disclosures.hook('creating', note);
  server.hold(({ body }) => body['method'] === 'run.start' && order.push('sent') === 0);
  expect(await app.send(QUESTION)).toBe(true);
  documents.db.disclosures.hook('creating').unsubscribe(note);
  expect(order).toEqual(['recorded', 'sent']);
  const [row] = await documents.db.disclosures.toArray();
  expect(inputs()[0]!['documents']).toMatchObject([{ file: row!.documentId, title: 'reef.md', text: row!.text }]);
  expect(await documents.projectOf(app.conversation.id)).toBe((await documents.projects())[0]!.id);
});

it('sends nothing of them to another agent', async () => {
  app.agents.choose('simple');
  await app.send(QUESTION);
  expect(Object.keys(inputs()[0]!)).toEqual(['messages']);
  expect(await documents.db.disclosures.count()).toBe(0);
});

it('sends nothing at all when it cannot be recorded; the words are a draft again', async () => {
  const fails = () => {
    throw new Error('The disk is full');
  };
  documents.db.disclosures.hook('creating', fails);
  app.draft = QUESTION;
  expect(await app.send(QUESTION)).toBe(false);
  expect([inputs(), app.draft]).toEqual([[], QUESTION]);
  expect(app.conversation.problem?.message).toContain('nothing was sent');
  documents.db.disclosures.hook('creating').unsubscribe(fails);
  app.conversation.problem!.retry!();
  await vi.waitFor(() => expect(inputs()).toHaveLength(1));
  await vi.waitFor(() => expect([app.draft, app.conversation.problem]).toEqual(['', null]));
});

it('uses the same way for a message that is said otherwise', async () => {
  await app.send(QUESTION);
  const { id } = app.conversation;
  server.begin(id);
  server.say(id, 'answer', 'Very.');
  server.finish(id);
  const [first] = app.conversation.messages;
  await vi.waitFor(() => expect(app.conversation.view.before[first!.id]).toBeTruthy());
  expect(await app.branches.say('research', first!.id, 'metres')).toBe(true);
  expect(inputs()[1]!['documents']).toHaveLength(1);
  useQuestionContext().isOn = false;
  expect(await app.send('And in metres?')).toBe(true);
  expect(inputs()[2]).toMatchObject({ documents: [], context_urls: [] });
  expect(await documents.db.disclosures.count()).toBe(2);
});

it('lists the passages in the composer, where they are opened, removed and switched off', async () => {
  renderInApp(app, QuestionHeader);
  app.draft = QUESTION;
  await screen.findByText('1 passage from your documents will be shared', {}, { timeout: 5_000 });
  await fireEvent.click(screen.getByTitle('Open reef.md at these words'));
  const { span, session } = useShelf();
  expect([session?.id, span]).toEqual([(await documents.rows(useShelf().project!))[0]!.id, { start: 0, end: 36 }]);
  expect(app.layout.panel).toBe('documents');
  await fireEvent.click(screen.getByRole('button', { name: 'Don’t share this passage of reef.md' }));
  await screen.findByText('No passages from your documents will be shared.');
  await app.send(QUESTION);
  expect(Object.keys(inputs()[0]!)).toEqual(['messages']);
  await fireEvent.click(screen.getByRole('checkbox', { name: 'Use my documents' }));
  await screen.findByText('Your documents are not used.');
  expect(localStorage.getItem('bathysphere.question.documents')).toBe('off');
});
