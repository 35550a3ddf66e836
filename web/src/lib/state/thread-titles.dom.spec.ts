import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeServer } from '../../../tests/fake-server';
import { Api } from '$lib/protocol/api';
import { Threads } from './threads.svelte';

let server: FakeServer;
let threads: Threads;
const wire = (id: string) => server.thread(id).wire.metadata;

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
  vi.stubGlobal('fetch', server.fetch);
  threads = new Threads(new Api());
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function answer(id: string): Promise<void> {
  threads.note(id, 'busy');
  threads.note(id, 'idle');
  await vi.advanceTimersByTimeAsync(1_600);
}

describe('titles', () => {
  it('are the first words until the server has written one', async () => {
    await threads.create('t', 'tell me of the whales', 'simple');
    expect(wire('t')).toEqual({ title: 'tell me of the whales', title_by: 'words', agent: 'simple' });
    Object.assign(wire('t'), { title: 'Whales', title_by: 'model' });
    await answer('t');
    expect(threads.get('t')?.title).toBe('Whales');
    const asked = server.requests.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.requests.length).toBe(asked);
  });

  it('are looked for a few times and not for ever', async () => {
    await threads.create('t', 'tell me of the whales', 'simple');
    const before = server.requests.length;
    await answer('t');
    await vi.advanceTimersByTimeAsync(120_000);
    expect(server.requests.length - before).toBe(4);
    expect(threads.get('t')?.title).toBe('tell me of the whales');
  });

  it('are the person’s once they renamed it', async () => {
    await threads.create('t', 'tell me of the whales', 'simple');
    await threads.rename('t', 'Mine');
    expect(wire('t')).toMatchObject({ title: 'Mine', title_by: 'person' });
    const before = server.requests.length;
    await answer('t');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.requests.length).toBe(before);
  });
});

describe('a thread', () => {
  it('is pinned and put into a project', async () => {
    server.add('a');
    await threads.load();
    await threads.pin('a', true);
    await threads.move('a', '  My   thesis ');
    expect(threads.get('a')).toMatchObject({ isPinned: true, project: 'My thesis' });
    expect(threads.projects).toEqual(['My thesis']);
    expect(threads.groups.map(({ label }) => label)).toEqual(['Pinned']);
    await threads.pin('a', false);
    await threads.move('a', null);
    expect(threads.get('a')).toMatchObject({ isPinned: false, project: null });
  });
});

describe('words that were said', () => {
  it('are looked for a moment after the last key, and only the newest are shown', async () => {
    server.hits = (query) => [
      { thread_id: query, title: query, updated_at: '', count: 1, hits: [] },
    ];
    for (const words of ['wh', 'wha', 'whale']) threads.query = words;
    expect(threads.messages.isSearching).toBe(true);
    await vi.advanceTimersByTimeAsync(300);
    expect(threads.messages.hits.map(({ title }) => title)).toEqual(['whale']);
    expect(server.requests.filter(({ path }) => path === '/threads/messages/search')).toHaveLength(1);
    threads.query = 'w';
    expect([threads.messages.hits.length, threads.messages.isSearching]).toEqual([0, false]);
  });
});
