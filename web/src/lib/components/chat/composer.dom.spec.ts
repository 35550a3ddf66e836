import 'fake-indexeddb/auto';
import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { renderInApp } from '../../../../tests/app-in-test';
import { asking, FakeLocks, FakeServer } from '../../../../tests/fake-server';
import Dock from '$lib/components/requests/Dock.svelte';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from '$lib/state/app.svelte';
import { useShelf } from '$lib/features/documents/store/shelf.svelte';
import Composer from './Composer.svelte';

const A = '00000000-0000-7000-8000-00000000000a';
let server: FakeServer;
let app: AppState;

const composer = () => document.querySelector<HTMLTextAreaElement>('#composer');
const answer = () => screen.getByPlaceholderText<HTMLTextAreaElement>('Your answer');
const enter = (field: HTMLElement) => fireEvent.keyDown(field, { key: 'Enter' });
const write = (field: HTMLElement, words: string) => fireEvent.input(field, { target: { value: words } });

async function show(): Promise<void> {
  history.replaceState(null, '', `/c/${A}`);
  app = new AppState(new Api(), installed);
  app.show(A);
  await app.load();
  await vi.waitFor(() => expect(app.conversation.isLoading).toBe(false));
  renderInApp(app, Dock);
  renderInApp(app, Composer);
}

async function ask(...questions: string[]): Promise<void> {
  await app.conversation.send('simple', 'Ask me');
  server.begin(A);
  server.ask(A, questions.map((words) => asking(words, words)));
  await vi.waitFor(() => expect(app.requests.open).toHaveLength(questions.length));
  await tick();
}

beforeEach(async () => {
  server = new FakeServer();
  server.add(A, ['First?', 'One.']);
  vi.stubGlobal('fetch', server.fetch);
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
  await show();
});

afterEach(() => {
  cleanup();
  app.conversation.close();
  vi.unstubAllGlobals();
  sessionStorage.clear();
  localStorage.clear();
});

describe('while the agent asks', () => {
  it('the one box is for the answer, and Enter sends it', async () => {
    await ask('Which city?');
    expect(composer()).toBeNull();
    await write(answer(), 'Ghent');
    await enter(answer());
    await vi.waitFor(() => expect(server.sent('input.respond')).toHaveLength(1));
    expect(server.sent('input.respond')[0]!.body['params']).toMatchObject({
      responses: [{ interrupt_id: 'Which city?', response: { response: 'Ghent' } }],
    });
    expect(server.sent('run.start')).toHaveLength(1);
    await vi.waitFor(() => expect(document.activeElement).toBe(composer()));
    expect(app.drafts.of('answer Which city?')).toBe('');
  });

  it('an answer that the server refuses is kept, over a reload too', async () => {
    await ask('Which city?');
    server.refuse(({ body }) => body['method'] === 'input.respond', 503);
    await write(answer(), 'Ghent');
    await enter(answer());
    await screen.findByText(/Your answer was not accepted/);
    expect(answer().value).toBe('Ghent');
    cleanup();
    await show();
    await vi.waitFor(() => expect(answer().value).toBe('Ghent'));
  });

  it('several requests say which of them is open', async () => {
    await ask('Which city?', 'Which year?');
    expect(screen.getByText('1 of 2')).toBeTruthy();
    expect(screen.getByText('2 of 2')).toBeTruthy();
    expect(composer()).toBeNull();
  });
});

describe('a message that is not the answer', () => {
  it('is a choice, says what it sets aside, and can be taken back', async () => {
    await ask('Which city?');
    await fireEvent.click(screen.getByRole('button', { name: 'Write something else' }));
    screen.getByText('Sending this message sets aside 1 open request.');
    expect(document.activeElement).toBe(composer());
    await write(composer()!, 'Never mind');
    await fireEvent.click(screen.getByRole('button', { name: 'Back to the request' }));
    expect(composer()).toBeNull();
    await fireEvent.click(screen.getByRole('button', { name: 'Write something else' }));
    expect(composer()!.value).toBe('Never mind');
    await enter(composer()!);
    await vi.waitFor(() => expect(server.sent('run.start')).toHaveLength(2));
    expect(server.sent('input.respond')).toHaveLength(0);
  });

  it('is asked about where it was begun before the request came', async () => {
    await write(composer()!, 'And then');
    await ask('Which city?');
    expect(composer()!.value).toBe('And then');
    await enter(composer()!);
    screen.getByRole('alertdialog');
    expect(server.sent('run.start')).toHaveLength(1);
    await fireEvent.click(screen.getByRole('button', { name: 'Set aside and send' }));
    await vi.waitFor(() => expect(server.sent('run.start')).toHaveLength(2));
  });

  it('does not lose its field when all of it is deleted', async () => {
    await write(composer()!, 'And then');
    await ask('Which city?');
    await write(composer()!, '');
    expect(composer()).not.toBeNull();
    screen.getByRole('button', { name: 'Back to the request' });
  });
});

describe('@', () => {
  const options = () => screen.queryAllByRole('option').map((option) => option.textContent?.trim());
  const type = (words: string) => write(composer()!, words);

  beforeEach(async () => {
    const { documents } = useShelf();
    const { id } = await documents.addProject('Travel');
    await documents.bind(A, id);
    for (const title of ['plan of the trip.md', 'travel.md', 'trip.md']) await documents.create({ projectId: id, title, text: 'x' });
  });

  it('offers the documents of the conversation, and Enter names one without sending', async () => {
    await type('Read @tri');
    await vi.waitFor(() => expect(options()).toEqual(['trip.md', 'plan of the trip.md']));
    await fireEvent.keyDown(composer()!, { key: 'ArrowDown' });
    await enter(composer()!);
    expect(app.draft).toBe('Read @“plan of the trip.md” ');
    expect(options()).toEqual([]);
    expect(server.sent('run.start')).toHaveLength(0);
  });

  it('is an ordinary letter where nothing fits, in an address, and after Escape', async () => {
    await type('Write to me@trip');
    await type('@nobody');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(options()).toEqual([]);
    await type('@tr');
    await vi.waitFor(() => expect(options()).toHaveLength(3));
    await fireEvent.keyDown(composer()!, { key: 'Escape' });
    await type('@tri');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(options()).toEqual([]);
    await enter(composer()!);
    await vi.waitFor(() => expect(server.sent('run.start')).toHaveLength(1));
  });

  it('is chosen by a click, too', async () => {
    await type('@trav');
    await vi.waitFor(() => expect(options()).toEqual(['travel.md']));
    await fireEvent.click(screen.getByRole('option'));
    expect(app.draft).toBe('@travel.md ');
  });
});
