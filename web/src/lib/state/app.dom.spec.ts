import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeLocks, FakeServer } from '../../../tests/fake-server';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from './app.svelte';

const A = '00000000-0000-7000-8000-00000000000a';
const B = '00000000-0000-7000-8000-00000000000b';
const STRANGE = '00000000-0000-7000-8000-0000000000ff';

let server: FakeServer;
let app: AppState;
const texts = () => app.conversation.messages.map(({ text }) => text);
const started = () => server.sent('run.start').map(({ path }) => path.split('/')[2]);
const isStart = ({ body }: { body: Record<string, unknown> }) => body['method'] === 'run.start';

/** A tab at an address. */
async function visit(path: string): Promise<AppState> {
  history.replaceState(null, '', path);
  const tab = new AppState(new Api(), installed);
  tab.show(tab.route.threadId);
  await tab.load();
  await vi.waitFor(() => expect(tab.conversation.isLoading).toBe(false));
  return tab;
}

beforeEach(() => {
  server = new FakeServer();
  server.add(A, ['First?', 'One.']);
  server.add(B, ['Second?', 'Two.']);
  vi.stubGlobal('fetch', server.fetch);
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
});

afterEach(() => {
  app.conversation.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  sessionStorage.clear();
  localStorage.clear();
});

describe('switching between threads', () => {
  it('fifty times leaves one stream, and the text of the last', async () => {
    app = await visit(`/c/${A}`);
    for (let time = 0; time < 50; time += 1) {
      app.open(time % 2 ? A : B);
      if (time % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    app.open(B);
    await vi.waitFor(() => expect(texts()).toEqual(['Second?', 'Two.']));
    await vi.waitFor(() => expect(server.streams).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([server.streams, server.mostStreams, texts()]).toEqual([1, 1, ['Second?', 'Two.']]);
  });

  it('keeps a draft for each, over a reload too', async () => {
    app = await visit(`/c/${A}`);
    app.draft = 'for A';
    app.open(B);
    await vi.waitFor(() => expect(app.conversation.isLoading).toBe(false));
    expect(app.draft).toBe('');
    app.draft = 'for B';
    app.open(A);
    expect(app.draft).toBe('for A');
    app.begin();
    expect(app.draft).toBe('');
    app.draft = 'for a new one';
    app = await visit(`/c/${B}`);
    expect(app.draft).toBe('for B');
    app.begin();
    expect(app.draft).toBe('for a new one');
  });

  it('while a message is on its way gives refused words back to the thread they were for', async () => {
    app = await visit(`/c/${A}`);
    app.draft = 'to A';
    server.refuse(isStart, 503);
    const release = server.hold(isStart);
    const sending = app.send('to A');
    await vi.waitFor(() => expect(server.sent('run.start')).toHaveLength(1));
    app.open(B);
    app.draft = 'to B';
    release();
    expect(await sending).toBe(false);
    expect(app.draft).toBe('to B');
    app.open(A);
    expect(app.draft).toBe('to A');
  });
});

describe('a message', () => {
  it('begins a conversation under an id of its own, and gives it an address', async () => {
    app = await visit('/');
    expect(await app.send('Hello?')).toBe(true);
    expect(location.pathname).toBe(`/c/${app.conversation.id}`);
    expect(started()).toEqual([app.conversation.id]);
    expect(app.threads.get(app.conversation.id)?.title).toBe('Hello?');
  });

  it('that begins a conversation and is refused is kept with it', async () => {
    app = await visit('/');
    server.refuse(isStart, 503);
    app.draft = 'Hello?';
    expect(await app.send('Hello?')).toBe(false);
    const { id } = app.conversation;
    expect([location.pathname, app.draft]).toEqual([`/c/${id}`, 'Hello?']);
    app = await visit(`/c/${id}`);
    expect(app.draft).toBe('Hello?');
    app.begin();
    expect(app.draft).toBe('');
  });

  it('to an address that is not there begins a new conversation under a new id', async () => {
    app = await visit(`/c/${STRANGE}`);
    expect(app.conversation.isMissing).toBe(true);
    app.draft = 'Private words';
    expect(await app.send('Private words')).toBe(true);
    expect(started()).not.toContain(STRANGE);
    expect(started()).toEqual([app.conversation.id]);
    expect(server.threads.has(STRANGE)).toBe(false);
    expect([location.pathname, app.draft]).toEqual([`/c/${app.conversation.id}`, '']);
  });

  it('to an address that could not be read goes nowhere until it has been', async () => {
    server.isAway = true;
    app = await visit(`/c/${STRANGE}`);
    app.draft = 'Private words';
    expect(await app.send('Private words')).toBe(false);
    expect([started(), app.draft]).toEqual([[], 'Private words']);
    server.isAway = false;
    expect(await app.send('Private words')).toBe(true);
    expect(server.threads.has(STRANGE)).toBe(false);
    expect(app.draft).toBe('');
  });

  it('that was refused is in the composer; trying again sends it once and clears it', async () => {
    app = await visit(`/c/${A}`);
    for (const [status, path] of [[0, A], [503, A], [429, A]] as const) {
      const stop = server.refuse(isStart, status);
      const count = server.thread(path).runs.length;
      app.draft = 'Again?';
      expect(await app.send('Again?')).toBe(false);
      expect(app.draft).toBe('Again?');
      stop();
      app.conversation.problem!.retry!();
      await vi.waitFor(() => expect(server.thread(path).runs.length).toBe(count + 1));
      await vi.waitFor(() => expect([app.draft, app.conversation.problem]).toEqual(['', null]));
    }
  });

  it('that waits its turn is a draft again when it is stopped', async () => {
    app = await visit(`/c/${A}`);
    await app.send('Later');
    app.draft = 'And this';
    await app.stop();
    expect(app.draft).toBe('Later\n\nAnd this');
  });

  it('is told of a lost server until it is back', async () => {
    app = await visit(`/c/${A}`);
    await app.start();
    const stop = server.refuse(isStart, 0);
    await app.send('Anybody?');
    expect(app.conversation.problem?.isOffline).toBe(true);
    stop();
    await app.threads.load();
    expect([app.conversation.problem, app.draft]).toEqual([null, 'Anybody?']);
  });
});

describe('the versions of a message', () => {
  it('are kept with the thread, also when an edit was refused first', async () => {
    app = await visit(`/c/${A}`);
    const [first] = app.conversation.messages;
    await vi.waitFor(() => expect(app.conversation.view.before[first!.id]).toBeTruthy());
    const stop = server.refuse(isStart, 503);
    app.conversation.edit = { messageId: first!.id, words: 'First, otherwise?' };
    expect(await app.branches.say('simple', first!.id, 'First, otherwise?')).toBe(false);
    expect(app.conversation.edit).toEqual({ messageId: first!.id, words: 'First, otherwise?' });
    expect(texts()).toEqual(['First?', 'One.']);
    stop();
    app.conversation.problem!.retry!();
    await vi.waitFor(() => expect(texts()).toEqual(['First, otherwise?']));
    await vi.waitFor(() => expect(app.branches.of(first!.id).versions).toHaveLength(2));
    expect(app.conversation.edit).toBeNull();
    const next = app.conversation.messages.at(-1)!;
    expect(server.thread(A).wire.metadata['versions']).toEqual([
      [{ id: first!.id, leaf: server.thread(A).checkpoints.at(-1) }, { id: next.id, leaf: null }],
    ]);
  });
});
