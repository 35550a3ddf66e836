import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeServer, asking } from '../../../tests/fake-server';
import { Api } from '$lib/protocol/api';
import { Conversation } from './conversation.svelte';

let server: FakeServer;
let conversation: Conversation;
const texts = () => conversation.messages.map(({ text }) => text);
const isStart = ({ body }: { body: Record<string, unknown> }) => body['method'] === 'run.start';

async function opened(id: string): Promise<Conversation> {
  conversation = new Conversation(id, new Api());
  await conversation.open();
  return conversation;
}

beforeEach(() => {
  server = new FakeServer();
  vi.stubGlobal('fetch', server.fetch);
});

afterEach(() => {
  conversation?.close();
  vi.unstubAllGlobals();
});

describe('opening a thread', () => {
  it('shows its talk and follows it by one stream', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    expect(texts()).toEqual(['Hello?', 'Hello there.']);
    await vi.waitFor(() => expect(server.streams).toBe(1));
  });

  it('that is closed while it opens leaves no stream behind', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    for (const part of ['/state', '/runs']) {
      const release = server.hold(({ path }) => path.includes(part));
      const opening = opened('a');
      await vi.waitFor(() => expect(server.requests.at(-1)!.path).toContain('/threads/a/'));
      conversation.close();
      release();
      await opening;
      expect(server.mostStreams).toBe(0);
    }
  });

  it('asks for all that it shows at once', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    const release = server.hold(() => true);
    const opening = opened('a');
    const parts = () => server.requests.map(({ path }) => path.split('/')[3]?.split('?')[0]);
    await vi.waitFor(() => expect(parts().sort()).toEqual(['runs', 'state']));
    release();
    await opening;
    expect(texts()).toEqual(['Hello?', 'Hello there.']);
  });

  it('again closes the stream before', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    for (let time = 0; time < 5; time += 1) await conversation.open();
    await vi.waitFor(() => expect(server.streams).toBe(1));
    expect(server.mostStreams).toBe(1);
    expect(texts()).toEqual(['Hello?', 'Hello there.']);
  });

  it('that does not exist is not found, and nothing is tried again', async () => {
    await opened('nobody');
    expect([conversation.isMissing, conversation.isKnown, conversation.problem]).toEqual([true, false, null]);
  });

  it('goes on by itself when the server is back', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    server.isAway = true;
    await opened('a');
    expect(conversation.problem).toMatchObject({ isOffline: true });
    server.isAway = false;
    await conversation.reconnect();
    expect([conversation.problem, texts()]).toEqual([null, ['Hello?', 'Hello there.']]);
  });

  it('that is new and was closed by a refused key is followed after the person has signed in', async () => {
    conversation = new Conversation('a', new Api());
    await conversation.open({ isNew: true });
    conversation.close();
    await conversation.resume();
    expect([conversation.isNew, server.requests]).toEqual([true, []]);
    await conversation.send('simple', 'Hello?');
    server.begin('a');
    server.say('a', 'x', 'Hello there.');
    server.finish('a');
    await vi.waitFor(() => expect(texts()).toEqual(['Hello?', 'Hello there.']));
    expect([conversation.isBusy, server.streams]).toEqual([false, 1]);
  });
});

describe('an edited message', () => {
  it('that is refused leaves the talk as it was, and is sent again as a branch', async () => {
    server.add('a', ['First?', 'One.', 'Second?', 'Two.']);
    await opened('a');
    await vi.waitFor(() => expect(conversation.view.before['a-h2']).toBeTruthy());
    const point = conversation.view.before['a-h2'];
    for (const [status, times] of [[429, 7], [409, 7], [0, 6]] as const) {
      for (let time = 0; time < times; time += 1) {
        const stop = server.refuse(isStart, status);
        expect(await conversation.branch('simple', 'a-h2', 'Second, otherwise?')).toBe(false);
        stop();
        expect(texts()).toEqual(['First?', 'One.', 'Second?', 'Two.']);
      }
    }
    expect(server.mostStreams).toBe(1);
    conversation.problem!.retry!();
    await vi.waitFor(() => expect(server.thread('a').runs.some(({ status }) => status === 'pending')).toBe(true));
    const configs = server.sent('run.start').map(({ body }) => (body['params'] as { config: { configurable: object } }).config.configurable);
    expect(configs).toHaveLength(21);
    expect(configs.every((config) => 'checkpoint_id' in config && config.checkpoint_id === point)).toBe(true);
    expect(texts()).toEqual(['First?', 'One.', 'Second, otherwise?']);
    server.thread('a').messages.splice(2);
    server.begin('a');
    server.say('a', 'new', 'Two, otherwise.');
    server.finish('a');
    await vi.waitFor(() => expect(texts()).toEqual(['First?', 'One.', 'Second, otherwise?', 'Two, otherwise.']));
  });
});

describe('a run that waits for its turn', () => {
  it('is seen and can be stopped before it begins; its words come back', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    await conversation.send('simple', 'And now?');
    expect([conversation.isBusy, conversation.canStop, conversation.status]).toEqual([true, true, 'idle']);
    expect(await conversation.stop()).toBe('And now?');
    expect(server.thread('a').runs[0]!.status).toBe('interrupted');
    expect([conversation.isBusy, texts()]).toEqual([false, ['Hello?', 'Hello there.']]);
  });

  it('is seen and can be stopped after a reload', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    await conversation.send('simple', 'And now?');
    conversation.close();
    await opened('a');
    expect([texts().at(-1), conversation.canStop]).toEqual(['And now?', true]);
    expect(conversation.queuedRun(conversation.messages.at(-1)!.id)).toBe(server.thread('a').runs[0]!.run_id);
    expect(await conversation.stop()).toBe('And now?');
    await vi.waitFor(() => expect(conversation.canStop).toBe(false));
  });

  it('behind another is stopped without ending the one at work', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    await conversation.send('simple', 'First');
    const first = server.begin('a');
    await vi.waitFor(() => expect(conversation.view.runId).toBe(first));
    await conversation.send('simple', 'Second');
    const run = conversation.queuedRun(conversation.messages.at(-1)!.id)!;
    expect(await conversation.cancel(run)).toBe('Second');
    await vi.waitFor(() => expect(server.thread('a').log.at(-1)!.seq).toBeGreaterThan(0));
    server.say('a', 'x', 'Still here.');
    await vi.waitFor(() => expect(texts().at(-1)).toBe('Still here.'));
    expect([conversation.status, conversation.view.runId]).toEqual(['running', first]);
    await conversation.stop();
    expect(server.thread('a').runs.filter(({ status }) => status === 'interrupted')).toHaveLength(2);
  });

  it('that another tab cancels disappears', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    await conversation.send('simple', 'And now?');
    await new Api().cancel('a', server.thread('a').runs[0]!.run_id);
    await vi.waitFor(() => expect([conversation.canStop, texts()]).toEqual([false, ['Hello?', 'Hello there.']]));
  });

  it('is not said to wait when it began before the server answered', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    const send = server.fetch;
    vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
      const response = await send(path, init);
      if (String(init.body).includes('run.start')) {
        server.begin('a');
        server.finish('a');
        await vi.waitFor(() => expect(conversation.view.runId).toBe(server.thread('a').runs[0]!.run_id));
      }
      return response;
    });
    await opened('a');
    await conversation.send('simple', 'Quick');
    expect([conversation.canStop, conversation.status]).toEqual([false, 'idle']);
  });
});

describe('what comes over the stream', () => {
  it('goes on after a lost connection, with nothing doubled', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    await conversation.send('simple', 'Go on');
    server.begin('a');
    server.say('a', 'x', 'Here it goes on.');
    await vi.waitFor(() => expect(texts().at(-1)).toBe('Here it goes on.'));
    server.drop();
    await vi.waitFor(() => expect(conversation.isLive).toBe(false));
    server.say('a', 'y', 'And ends.');
    server.finish('a');
    await vi.waitFor(() => expect(texts().slice(-2)).toEqual(['Here it goes on.', 'And ends.']));
    expect([conversation.isLive, server.mostStreams]).toEqual([true, 1]);
  });

  it('and cannot be read or shown is counted and told, and the rest is shown by the same stream', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    await vi.waitFor(() => expect(server.streams).toBe(1));
    const streams = () => server.requests.filter(({ path }) => path.includes('/stream')).length;
    await conversation.send('simple', 'Go on');
    server.begin('a');
    server.raw('a', 'data: {"not json\n\n');
    server.raw('a', 'data: null\n\n');
    server.tell('a', 'messages', null); // a reducer throws
    server.say('a', 'x', 'Here I am.');
    server.finish('a');
    await vi.waitFor(() => expect(texts().at(-1)).toBe('Here I am.'));
    await vi.waitFor(() => expect(conversation.problem?.message).toContain('could not be displayed'));
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect([streams(), conversation.status]).toEqual([1, 'idle']);
    conversation.problem!.retry!();
    await vi.waitFor(() => expect(conversation.isLoading).toBe(false));
  });

  it('tells once of each pause', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    const paused = vi.fn();
    conversation.onpaused = paused;
    await conversation.send('simple', 'Ask me');
    server.begin('a');
    server.ask('a', [asking('q', 'Which?')]);
    await vi.waitFor(() => expect(conversation.status).toBe('interrupted'));
    expect(paused).toHaveBeenCalledTimes(1);
    expect(await conversation.respond([{ question: conversation.questions[0]!, response: { response: 'This' } }])).toBeNull();
    expect([conversation.questions, conversation.isBusy, conversation.canStop]).toEqual([[], true, true]);
  });
});

describe('another version', () => {
  it('is the one that was asked for last, however slow the one before', async () => {
    server.add('a', ['Hello?', 'Hello there.']);
    await opened('a');
    const release = server.hold(({ path }) => path.endsWith('/state/slow'));
    const slow = conversation.lookAt('slow');
    await conversation.lookAt('quick');
    release();
    await slow;
    expect(conversation.from).toBe('quick');
    await conversation.lookAt(null);
    expect([conversation.from, texts()]).toEqual([null, ['Hello?', 'Hello there.']]);
  });
});
