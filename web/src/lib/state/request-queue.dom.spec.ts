import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { calling, FakeLocks, FakeServer } from '../../../tests/fake-server';
import { Api } from '$lib/protocol/api';
import { AppState } from './app.svelte';
import type { ClientTool } from './client-tools';

const A = '00000000-0000-7000-8000-00000000000a';
let server: FakeServer;
let tabs: AppState[];
const ran = vi.fn();
const clientTools = new Map<string, ClientTool>([['read_here', { name: 'read_here', run: ran }]]);
const isAnswer = ({ body }: { body: Record<string, unknown> }) => body['method'] === 'input.respond';
const sent = () => server.sent('input.respond');

async function tab(): Promise<AppState> {
  history.replaceState(null, '', `/c/${A}`);
  const app = new AppState(new Api(), { clientTools, starts: [], leaves: [] });
  tabs.push(app);
  app.show(A);
  await vi.advanceTimersByTimeAsync(100);
  return app;
}

/** The agent calls tools that run here. */
async function call(...names: string[]): Promise<void> {
  server.add(A, ['First?', 'One.']);
  for (const app of tabs) app.show(A);
  await vi.advanceTimersByTimeAsync(100);
  await tabs[0]!.conversation.send('simple', 'Read it');
  server.begin(A);
  server.ask(A, names.map((name, index) => calling(`q${index}`, name)));
  await vi.advanceTimersByTimeAsync(100);
}

beforeEach(() => {
  vi.useFakeTimers();
  tabs = [];
  server = new FakeServer();
  server.add(A, ['First?', 'One.']);
  vi.stubGlobal('fetch', server.fetch);
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
  ran.mockReset().mockResolvedValue('read');
});

afterEach(() => {
  for (const { conversation } of tabs) conversation.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('a tool that runs here', () => {
  it('answers by itself when the run has paused, all calls together', async () => {
    const app = await tab();
    await call('read_here', 'read_here', 'unheard_of');
    expect(ran).toHaveBeenCalledTimes(2);
    expect(sent()).toHaveLength(1);
    expect(sent()[0]!.body['params']).toMatchObject({
      responses: [
        { interrupt_id: 'q0', response: { 'call-q0': 'read' } },
        { interrupt_id: 'q1', response: { 'call-q1': 'read' } },
        { interrupt_id: 'q2', response: { 'call-q2': { error: 'This device has no tool named unheard_of.' } } },
      ],
    });
    expect([app.requests.automatic, app.requests.stuck]).toEqual([[], null]);
  });

  it('runs once while the server refuses its answer for ten seconds, at most one request a second', async () => {
    const app = await tab();
    const stop = server.refuse(isAnswer, 503);
    await call('read_here');
    await vi.advanceTimersByTimeAsync(10_000);
    const times = sent().map(({ at }) => at);
    expect(times.length).toBeGreaterThan(1);
    expect(times.slice(1).every((at, index) => at - times[index]! >= 999)).toBe(true);
    expect([app.requests.stuck?.isRetrying, app.isBusy]).toEqual([true, true]);
    stop();
    await vi.advanceTimersByTimeAsync(16_000);
    expect([app.requests.automatic.length, app.requests.stuck]).toEqual([0, null]);
    expect(ran).toHaveBeenCalledTimes(1);
  });

  it('waits for the person where the answer itself is refused', async () => {
    const app = await tab();
    const stop = server.refuse(isAnswer, 422);
    await call('read_here');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sent()).toHaveLength(1);
    expect(app.requests.stuck).toEqual({ message: 'Refused with 422', isRetrying: false });
    expect(app.isBusy).toBe(false);
    stop();
    await app.requests.work();
    expect([sent().length, app.requests.automatic.length]).toEqual([2, 0]);
    expect(ran).toHaveBeenCalledTimes(1);
  });

  it('is run by one of several tabs, and by none again after it was answered', async () => {
    await tab();
    await tab();
    await tab();
    let finish = (_: string) => {};
    ran.mockImplementation(() => new Promise<string>((resolve) => (finish = resolve)));
    await call('read_here');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ran).toHaveBeenCalledTimes(1);
    finish('read');
    await vi.advanceTimersByTimeAsync(5_000);
    expect([ran.mock.calls.length, sent().length]).toEqual([1, 1]);
  });

  it('is taken over by another tab when the first one goes away', async () => {
    await tab();
    await tab();
    server.refuse(isAnswer, 503, { times: 1 });
    await call('read_here');
    tabs[0]!.conversation.close();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(server.thread(A).interrupts).toEqual([]);
  });

  it('goes on when its thread is left and opened again while the server refuses', async () => {
    const app = await tab();
    const stop = server.refuse(isAnswer, 503);
    await call('read_here');
    await vi.advanceTimersByTimeAsync(4_000);
    app.begin();
    await vi.advanceTimersByTimeAsync(1_000);
    const count = sent().length;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(sent().length).toBe(count);
    stop();
    app.open(A);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([server.thread(A).interrupts, ran.mock.calls.length]).toEqual([[], 1]);
  });

  it('that throws answers with its error', async () => {
    await tab();
    ran.mockRejectedValue(new Error('The disk is gone'));
    await call('read_here');
    expect(sent()[0]!.body['params']).toMatchObject({ responses: [{ response: { 'call-q0': { error: 'The disk is gone' } } }] });
  });

  it('is not lost when the browser refuses the lock', async () => {
    const app = await tab();
    vi.stubGlobal('navigator', { locks: { request: () => Promise.reject(new Error('No locks here')) } });
    await call('read_here');
    expect(app.requests.stuck).toEqual({ message: 'No locks here', isRetrying: false });
    vi.stubGlobal('navigator', { locks: new FakeLocks() });
    await app.requests.work();
    expect(app.requests.automatic).toEqual([]);
  });
});
