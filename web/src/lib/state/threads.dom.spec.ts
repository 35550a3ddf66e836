import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeServer } from '../../../tests/fake-server';
import { Api } from '$lib/protocol/api';
import { Threads } from './threads.svelte';

let server: FakeServer;
let threads: Threads;
const ids = () => threads.all.map(({ id }) => id);

beforeEach(() => {
  server = new FakeServer();
  for (let n = 1; n <= 250; n += 1) server.add(`t${n}`, [], { title: n === 3 ? 'The Mariana trench' : `Talk ${n}` });
  vi.stubGlobal('fetch', server.fetch);
  threads = new Threads(new Api());
});

afterEach(() => void vi.unstubAllGlobals());

describe('a long list of threads', () => {
  it('is searched on the server', async () => {
    await threads.load();
    threads.query = 'mariana';
    expect([threads.found.length, threads.isSearching]).toEqual([0, true]);
    await vi.waitFor(() => expect(threads.isSearching).toBe(false));
    expect(threads.found.map(({ title }) => title)).toEqual(['The Mariana trench']);
  });

  it('keeps an older thread that is open when it is read again', async () => {
    await Promise.all([threads.load(), threads.ensure('t2')]);
    await threads.ensure('t1');
    await threads.load();
    expect([threads.get('t1')?.title, threads.get('t2')?.title]).toEqual(['Talk 1', 'Talk 2']);
  });

  it('offers more as long as there is more, and no longer', async () => {
    await threads.load();
    expect([ids().length, threads.hasMore]).toEqual([101, true]);
    await threads.more();
    expect([ids().length, threads.hasMore]).toEqual([201, true]);
    await threads.more();
    expect([ids().length, threads.hasMore]).toEqual([250, false]);
    await threads.load();
    expect([ids().length, threads.hasMore]).toEqual([250, false]);
  });

  it('of exactly one page offers nothing more', async () => {
    server.threads.clear();
    for (let n = 1; n <= 100; n += 1) server.add(`t${n}`);
    await threads.load();
    expect([ids().length, threads.hasMore]).toEqual([100, false]);
  });

  it('forgets what was deleted elsewhere', async () => {
    await threads.load();
    server.threads.delete('t250');
    await threads.load();
    expect(ids()).not.toContain('t250');
  });

  it('tells what failed and keeps what it has', async () => {
    await threads.load();
    server.isAway = true;
    await threads.more();
    expect([ids().length, threads.problem]).toEqual([101, expect.stringContaining('can’t be reached')]);
    server.isAway = false;
    await threads.load();
    expect(threads.problem).toBeNull();
  });
});
