import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeServer } from '../../../tests/fake-server';
import { Api } from './api';
import { Feed, type FeedHandlers } from './feed';
import type { WireEvent } from './wire';

let server: FakeServer;
let feed: Feed;
let events: WireEvent[];
let handlers: { [Name in keyof FeedHandlers]: ReturnType<typeof vi.fn<FeedHandlers[Name]>> };
const asked = () => server.requests.map(({ at }) => at);

function follow(since = 0): void {
  feed = new Feed(new Api(), 'a', handlers, since);
}

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
  server.add('a', ['Hello?', 'Hello there.']);
  vi.stubGlobal('fetch', server.fetch);
  events = [];
  handlers = {
    onevent: vi.fn((event: WireEvent) => void events.push(event)),
    onlive: vi.fn(),
    onrefused: vi.fn(),
    onunreadable: vi.fn(),
  };
});

afterEach(() => {
  feed.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('a feed', () => {
  it('gives what the log has and what comes, each once, over lost connections', async () => {
    follow();
    await vi.advanceTimersByTimeAsync(10);
    for (let time = 0; time < 3; time += 1) {
      server.drop();
      server.tell('a', 'custom', { payload: time });
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(events.map(({ seq }) => seq)).toEqual(server.thread('a').log.map(({ seq }) => seq));
    expect(server.streams).toBe(1);
  });

  it('gives an event once, however often the server repeats it; a snapshot is news whatever its number', async () => {
    follow();
    await vi.advanceTimersByTimeAsync(10);
    const { log } = server.thread('a');
    const send = (event: WireEvent) => server.raw('a', `data: ${JSON.stringify(event)}\n\n`);
    for (const event of log) send(event);
    send({ ...log[0]!, event_id: `${log[0]!.seq}@snapshot` });
    await vi.advanceTimersByTimeAsync(10);
    expect(events.map(({ event_id: id }) => id)).toEqual([...log.map(({ event_id: id }) => id), `${log[0]!.seq}@snapshot`]);
  });

  it('asks at most once a second while it is refused, and goes on when it is not', async () => {
    const stop = server.refuse(() => true, 503);
    follow();
    await vi.advanceTimersByTimeAsync(10_000);
    const times = asked();
    expect(times.slice(1).every((at, index) => at - times[index]! >= 999)).toBe(true);
    expect(times.length).toBeLessThanOrEqual(5);
    expect(handlers.onlive).toHaveBeenLastCalledWith(false);
    stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(handlers.onlive).toHaveBeenLastCalledWith(true);
  });

  it('backs off from a server that takes it in and ends it at once', async () => {
    server.refuse(() => true, 200, { body: {} });
    follow();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.requests.length).toBeLessThanOrEqual(5);
  });

  it('skips and counts what it cannot read, and keeps its connection', async () => {
    follow();
    await vi.advanceTimersByTimeAsync(10);
    for (const frame of ['data: {"broken\n\n', 'data: null\n\n', 'data: {"seq": "1"}\n\n']) server.raw('a', frame);
    server.tell('a', 'custom', { payload: 'after' });
    await vi.advanceTimersByTimeAsync(9_000);
    expect(handlers.onunreadable.mock.calls).toEqual([[1], [2], [3]]);
    expect([events.at(-1)!.method, server.requests.length]).toEqual(['custom', 1]);
  });

  it('ends where the server refuses permanently', async () => {
    server.refuse(() => true, 403);
    follow();
    await vi.advanceTimersByTimeAsync(30_000);
    expect([handlers.onrefused.mock.calls.length, server.requests.length]).toEqual([1, 1]);
  });

  it('opens a connection again that has been silent for too long', async () => {
    follow();
    await vi.advanceTimersByTimeAsync(26_000);
    expect(server.requests.length).toBe(2);
    expect(server.mostStreams).toBe(1);
  });

  it('gives nothing after it was closed', async () => {
    follow();
    await vi.advanceTimersByTimeAsync(10);
    const count = events.length;
    feed.close();
    server.tell('a', 'custom', { payload: 'late' });
    await vi.advanceTimersByTimeAsync(10_000);
    expect([events.length, server.streams, server.requests.length]).toEqual([count, 0, 1]);
  });
});
