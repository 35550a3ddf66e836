import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Api } from '$lib/protocol/api';
import { push } from './push.svelte';

const KEY = 'BAAA_-8';
const bytesOf = (key: string) => Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

/** A browser with at most one subscription. */
class Browser {
  current: { endpoint: string; key: string } | null = null;
  count = 0;
  fails = false;

  getSubscription = () => Promise.resolve(this.current && this.#view(this.current));

  subscribe = ({ applicationServerKey }: { applicationServerKey: string }) => {
    if (this.fails) return Promise.reject(new DOMException('no push service', 'AbortError'));
    this.current ??= { endpoint: `https://push.example/${++this.count}`, key: applicationServerKey };
    return Promise.resolve(this.#view(this.current));
  };

  #view({ endpoint, key }: { endpoint: string; key: string }) {
    return {
      endpoint,
      options: { applicationServerKey: bytesOf(key).buffer },
      toJSON: () => ({ endpoint }),
      unsubscribe: () => Promise.resolve((this.current = null) === null),
    };
  }
}

describe('push', () => {
  let browser: Browser;
  let sent: unknown[][];
  let key: string | null;
  let words: Map<string, string>;
  const api = {
    send: (...request: unknown[]) => {
      sent.push(request);
      return Promise.resolve({ public_key: key });
    },
  } as unknown as Api;
  const changes = () => sent.filter(([method]) => method !== 'GET');

  beforeEach(() => {
    browser = new Browser();
    sent = [];
    key = KEY;
    words = new Map();
    const registration = { pushManager: browser };
    vi.stubGlobal('navigator', {
      serviceWorker: { getRegistration: () => Promise.resolve(registration), ready: Promise.resolve(registration) },
    });
    vi.stubGlobal('caches', {
      open: () => Promise.resolve({ put: async (path: string, kept: Response) => void words.set(path, await kept.text()) }),
    });
  });
  afterEach(() => vi.unstubAllGlobals());

  it('registers this browser, and hands the service worker its words', async () => {
    await push.subscribe(api);
    expect(changes()).toEqual([['PUT', '/push/subscription', { endpoint: 'https://push.example/1' }]]);
    expect(push.state).toBe('on');
    expect(JSON.parse(words.get('/push-words') ?? '')).toHaveProperty('waiting');
  });

  it('registers the worker where the page has not done so yet', async () => {
    const registration = { pushManager: browser };
    const register = vi.fn(() => Promise.resolve(registration));
    const serviceWorker = { getRegistration: () => Promise.resolve(undefined), register, ready: Promise.resolve(registration) };
    vi.stubGlobal('navigator', { serviceWorker });
    await push.subscribe(api);
    expect([register.mock.calls, push.state]).toEqual([[['/sw.js']], 'on']);
  });

  it('is off where the browser refuses the worker', async () => {
    const serviceWorker = { getRegistration: () => Promise.resolve(undefined), register: () => Promise.reject(new Error('private')) };
    vi.stubGlobal('navigator', { serviceWorker });
    await push.subscribe(api);
    expect([browser.current, push.state]).toEqual([null, null]);
  });

  it('subscribes again where the server has another key', async () => {
    await push.subscribe(api);
    await push.subscribe(api);
    expect(browser.count).toBe(1);
    key = 'BBBB';
    await push.subscribe(api);
    expect(browser.current).toEqual({ endpoint: 'https://push.example/2', key: 'BBBB' });
  });

  it('asks the browser for nothing where the server offers nothing', async () => {
    key = null;
    await push.subscribe(api);
    expect([browser.current, changes(), push.state]).toEqual([null, [], null]);
  });

  it('says when the browser cannot', async () => {
    browser.fails = true;
    await push.subscribe(api);
    expect([changes(), push.state]).toEqual([[], 'failed']);
  });

  it('is off in the browser and at the server, even if it was turned on a moment ago', async () => {
    void push.subscribe(api);
    await push.unsubscribe(api);
    expect(changes().at(-1)).toEqual(['DELETE', '/push/subscription', { endpoint: 'https://push.example/1' }]);
    expect([browser.current, push.state]).toEqual([null, null]);
  });
});
