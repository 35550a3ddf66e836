import 'fake-indexeddb/auto';
import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import type { Component } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { renderInApp } from '../../../../tests/app-in-test';
import { asking, FakeLocks, FakeServer } from '../../../../tests/fake-server';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from '$lib/state/app.svelte';
import Announcer from './Announcer.svelte';
import Chat from './Chat.svelte';
import type { MapNode } from '$lib/features/argument-map/map';
import { toMessage } from '$lib/features/argument-map/navigation';
import { useIntake } from '$lib/features/documents/intake.svelte';
import FileDrop from '$lib/features/documents/ui/FileDrop.svelte';
import QuickActions from './QuickActions.svelte';

const A = '00000000-0000-7000-8000-00000000000a';
const B = '00000000-0000-7000-8000-00000000000b';
let server: FakeServer;
let app: AppState;

const isStart = ({ body }: { body: Record<string, unknown> }) => body['method'] === 'run.start';
const chips = () => screen.queryAllByRole('button', { name: 'Go deeper' }).length;
const said = () => screen.getByRole('status').textContent;

async function show(component: Component, id = A): Promise<void> {
  history.replaceState(null, '', `/c/${id}`);
  app = new AppState(new Api(), installed);
  app.show(id);
  await app.load();
  await vi.waitFor(() => expect(app.conversation.isLoading).toBe(false));
  renderInApp(app, component);
}

beforeEach(() => {
  server = new FakeServer();
  server.add(A, ['First?', 'One.']);
  server.add(B, ['Second?', 'Two.']);
  vi.stubGlobal('fetch', server.fetch);
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
});

afterEach(() => {
  useIntake().dismiss();
  cleanup();
  app.conversation.close();
  vi.unstubAllGlobals();
  sessionStorage.clear();
  localStorage.clear();
});

describe('a long conversation', () => {
  const LONG = '00000000-0000-7000-8000-00000000000c';
  const questions = () => document.querySelectorAll('.human').length;

  beforeEach(() => {
    server.add(LONG, Array.from({ length: 60 }, (_, n) => (n % 2 ? `Answer ${n}.` : `Question ${n}?`)));
    vi.stubGlobal('ResizeObserver', NoObserver);
    vi.stubGlobal('IntersectionObserver', NoObserver);
  });

  it('is drawn from its end, and whole on paper', async () => {
    await show(Chat, LONG);
    await vi.waitFor(() => expect(questions()).toBe(20));
    expect(screen.queryByText('Question 18?')).toBeNull();
    screen.getByText('Question 58?');
    await fireEvent(window, new Event('beforeprint'));
    expect(questions()).toBe(30);
    expect(screen.queryByRole('button', { name: 'Show earlier messages' })).toBeNull();
  });

  it('has a button for what is earlier', async () => {
    await show(Chat, LONG);
    await fireEvent.click(await screen.findByRole('button', { name: 'Show earlier messages' }));
    await vi.waitFor(() => expect(questions()).toBe(30));
  });

  it('is drawn as far as a message that was searched for', async () => {
    await show(Chat, LONG);
    await vi.waitFor(() => expect(questions()).toBe(20));
    app.target = app.conversation.messages[10]!.id;
    await vi.waitFor(() => expect(questions()).toBe(25));
  });

  it('is drawn whole where a point of the map comes from far above', async () => {
    await show(Chat, LONG);
    await vi.waitFor(() => expect(questions()).toBe(20));
    const from = (index: number) => ({ source: { message: app.conversation.messages[index]!.id } }) as MapNode;
    await toMessage(from(58), app);
    expect(questions()).toBe(20);
    expect(await toMessage(from(0), app)).toBe(true);
    expect(questions()).toBe(30);
  });
});

/** Nothing is ever seen or laid out here. */
class NoObserver {
  observe() {}
  unobserve() {}
  disconnect() {}
}

describe('suggestions for the next message', () => {
  it('are shown after an answer only, never under a message that waits for one', async () => {
    await show(QuickActions);
    await vi.waitFor(() => expect(chips()).toBe(1));
    const seen: number[] = [];
    const look = async (isReached: () => boolean) => {
      await vi.waitFor(() => expect(isReached()).toBe(true));
      await Promise.resolve();
      seen.push(chips());
    };
    await app.conversation.send('simple', 'And then?');
    await look(() => app.conversation.canStop); // it waits for a worker
    const run = server.begin(A);
    await look(() => app.conversation.view.runId === run);
    server.finish(A); // without a word
    await look(() => !app.isBusy);
    expect(seen).toEqual([0, 0, 0]);
    await app.conversation.send('simple', 'And now?');
    server.begin(A);
    server.say(A, 'x', 'Two.');
    server.finish(A);
    await vi.waitFor(() => expect(chips()).toBe(1));
  });

  it('are not shown under an error, a failed run or an open question', async () => {
    await show(QuickActions);
    await vi.waitFor(() => expect(chips()).toBe(1));
    const allow = server.refuse(isStart, 429);
    await app.conversation.send('simple', 'And then?');
    allow();
    await vi.waitFor(() => expect(app.conversation.problem).not.toBeNull());
    await vi.waitFor(() => expect(chips()).toBe(0));
    app.conversation.dismiss();
    await vi.waitFor(() => expect(chips()).toBe(1));
    await app.conversation.send('simple', 'Ask me');
    server.begin(A);
    server.say(A, 'x', 'A question first.');
    server.ask(A, [asking('q', 'Which?')]);
    await vi.waitFor(() => expect(app.requests.open).toHaveLength(1));
    expect(chips()).toBe(0);
    await app.conversation.respond([{ question: app.requests.open[0]!, response: { response: 'This' } }]);
    server.begin(A);
    server.say(A, 'y', 'Half an answer');
    server.finish(A, 'failed');
    await vi.waitFor(() => expect(app.conversation.status).toBe('failed'));
    expect(chips()).toBe(0);
  });
});

describe('what is said to people who do not see the page', () => {
  async function ask(): Promise<void> {
    await app.conversation.send('simple', 'Ask me');
    server.begin(A);
    server.ask(A, [asking('q', 'Which?')]);
    await vi.waitFor(() => expect(said()).toBe('1 request needs your input.'));
  }
  const answer = () => app.conversation.respond([{ question: app.requests.open[0]!, response: { response: 'This' } }]);

  it('no longer says that a request waits once it is answered', async () => {
    await show(Announcer);
    expect(said()).toBe('');
    await ask();
    await answer();
    await vi.waitFor(() => expect(said()).toBe(''));
  });

  it('says that the agent has answered, however quick it was', async () => {
    await show(Announcer);
    await ask();
    await answer();
    server.begin(A);
    server.say(A, 'x', 'Then it is this.');
    server.finish(A);
    await vi.waitFor(() => expect(said()).toBe('The agent has answered.'));
  });

  it('says nothing of a thread that was left', async () => {
    await show(Announcer);
    await ask();
    app.open(B);
    await vi.waitFor(() => expect(app.conversation.messages).toHaveLength(2));
    await vi.waitFor(() => expect(said()).toBe(''));
  });
});

describe('a file that is dropped or pasted on the chat', () => {
  const data = (name: string) => ({ types: ['Files'], files: [new File(['The reef is old.'], name, { type: 'text/markdown' })] });
  /** An event that bubbles up from the page to the window; whether the browser would still act on it itself. */
  function fire(type: string, key: 'dataTransfer' | 'clipboardData', value: object): boolean {
    const event = Object.assign(new Event(type, { bubbles: true, cancelable: true }), { [key]: value });
    document.body.dispatchEvent(event);
    return !event.defaultPrevented;
  }

  it('becomes a document, and the browser does not leave the page for it', async () => {
    await show(FileDrop);
    const { useShelf } = await import('$lib/features/documents/store/shelf.svelte');
    expect(fire('dragover', 'dataTransfer', data('dropped.md'))).toBe(false);
    await screen.findByText('Drop files to add them to your documents');
    expect(fire('drop', 'dataTransfer', data('dropped.md'))).toBe(false);
    await screen.findByText(/^Added 1 file to your documents\./);
    await fireEvent.click(screen.getByRole('button', { name: 'Dismiss' }));
    expect(fire('paste', 'clipboardData', data('pasted.md'))).toBe(false);
    await screen.findByText(/Added 1 file to your documents/);
    await vi.waitFor(() => expect(useShelf().rows.map(({ title }) => title)).toEqual(expect.arrayContaining(['dropped.md', 'pasted.md'])));
  });

  it('is left alone where it is words, or where something else takes it', async () => {
    await show(FileDrop);
    expect(fire('dragover', 'dataTransfer', { types: ['text/plain'], files: [] })).toBe(true);
    expect(fire('drop', 'dataTransfer', { types: ['text/plain'], files: [] })).toBe(true);
    expect(fire('paste', 'clipboardData', { types: ['text/plain'], files: [] })).toBe(true);
    const taken = Object.assign(new Event('drop', { bubbles: true, cancelable: true }), { dataTransfer: data('other.md') });
    document.body.addEventListener('drop', (event) => event.preventDefault(), { once: true });
    document.body.dispatchEvent(taken);
    expect(screen.queryByRole('status')).toBeNull();
  });
});
