import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeIssuer, ISSUER } from '../../../tests/fake-issuer';
import { FakeLocks } from '../../../tests/fake-server';
import { Api } from '$lib/protocol/api';
import { takeArrival } from '$lib/sign-in/arrival';
import { text } from '$lib/text';
import { STORED as DRAFTS } from './drafts.svelte';
import { Session } from './session.svelte';

const REFRESH = 'bathysphere.refresh';
const PENDING = 'bathysphere.signing-in';
/** Channels among the tabs of one test; tabs of earlier tests are closed. */
class FakeChannel extends EventTarget {
  static open = new Set<FakeChannel>();

  constructor() {
    super();
    FakeChannel.open.add(this);
  }

  postMessage(data: unknown): void {
    for (const other of FakeChannel.open) {
      if (other !== this) queueMicrotask(() => other.dispatchEvent(new MessageEvent('message', { data: structuredClone(data) })));
    }
  }
}

let issuer: FakeIssuer;
let left: string[];

beforeEach(() => {
  issuer = new FakeIssuer();
  issuer.install();
  FakeChannel.open.clear();
  vi.stubGlobal('BroadcastChannel', FakeChannel);
  vi.stubGlobal('navigator', { locks: new FakeLocks() });
  left = [];
  vi.spyOn(location, 'assign').mockImplementation((page) => void left.push(String(page)));
  history.replaceState(null, '', '/c/0a#there');
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
  sessionStorage.clear();
  localStorage.clear();
});

/** Refused, and on the way to the issuer; gives what it was asked. */
async function leave(): Promise<URLSearchParams> {
  const api = new Api();
  const session = new Session(api);
  await api.models().catch(() => undefined);
  await vi.waitFor(() => expect(session.issuerName).toBe('login.example'));
  await session.signInAtIssuer();
  const asked = new URL(left.pop()!).searchParams;
  issuer.nonce = asked.get('nonce')!;
  return asked;
}

/** Back, with these parameters; the page that was left is gone. */
function comeBack(parameters: Record<string, string>): { api: Api; session: Session } {
  FakeChannel.open.clear();
  history.replaceState(null, '', `/signed-in?${new URLSearchParams(parameters)}`);
  const api = new Api();
  return { api, session: new Session(api, takeArrival()) };
}

async function signIn() {
  const asked = await leave();
  const back = comeBack({ code: 'c', state: asked.get('state')! });
  await back.session.look();
  return back;
}

describe('a sign-in at an issuer', () => {
  it('asks with PKCE, and comes back to where the person was with a token in memory', async () => {
    const asked = await leave();
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: 'code',
      client_id: 'browser',
      redirect_uri: `${location.origin}/signed-in`,
      scope: 'openid',
      audience: 'us',
      code_challenge_method: 'S256',
    });
    const { session } = comeBack({ code: 'c', state: asked.get('state')! });
    expect(location.pathname + location.search + location.hash).toBe('/c/0a#there');
    await session.look();
    expect([session.me?.user, session.me?.isAdmin, session.isSignedIn]).toEqual(['ada', true, true]);
    const stored = JSON.stringify([{ ...sessionStorage }, { ...localStorage }]);
    expect([stored.includes('access-1'), sessionStorage.getItem(PENDING), localStorage.length]).toEqual([false, null, 0]);
  });

  it.each([
    ['another state', { code: 'c', state: 'forged' }, text.signIn.invalid],
    ['no state', { code: 'c' }, text.signIn.invalid],
    ['another issuer', { code: 'c', iss: 'https://evil.example' }, text.signIn.invalid],
    ['a refusal', { error: 'access_denied' }, text.signIn.denied],
    ['an error', { error: 'server_error', error_description: 'Down\u202e\nfor repair' }, 'The sign-in service refused: Down  for repair'],
  ])('comes to nothing with %s, and says so', async (what, parameters, problem) => {
    const asked = await leave();
    const calls = issuer.calls.length;
    const state = what.includes('state') ? {} : { state: asked.get('state')! };
    const { session } = comeBack({ ...parameters, ...state } as Record<string, string>);
    await expect(session.look()).rejects.toThrow();
    expect([session.isAsking, session.problem]).toEqual([true, problem]);
    expect(issuer.calls.slice(calls).filter((path) => path === '/token')).toEqual([]);
  });

  it('comes to nothing with another nonce, or when this tab began none', async () => {
    const asked = await leave();
    issuer.nonce = 'of another sign-in';
    const replayed = comeBack({ code: 'c', state: asked.get('state')! });
    await expect(replayed.session.look()).rejects.toThrow();
    expect([replayed.session.problem, sessionStorage.getItem(REFRESH)]).toEqual([text.signIn.invalid, null]);
    const again = comeBack({ code: 'c', state: asked.get('state')! });
    await expect(again.session.look()).rejects.toThrow();
    expect([again.session.problem, location.pathname]).toEqual([text.signIn.notBegun, '/']);
  });

  it('never leaves for a script, nor without https', async () => {
    for (const endpoint of ['javascript:alert(1)', 'http://login.example/authorize', 'data:text/html,x']) {
      issuer.metadata = { ...issuer.metadata, authorization_endpoint: endpoint };
      await expect(leave()).rejects.toThrow(); // nothing was left for
      expect(left).toEqual([]);
    }
  });

  it('says that the issuer cannot be reached', async () => {
    issuer.isThere = false;
    const session = new Session(new Api());
    await session.signInAtIssuer();
    expect([session.problem, left]).toEqual([text.signIn.unreachable, []]);
  });

  it('starts afresh if somebody else comes back', async () => {
    const { session } = await signIn();
    await session.signInAtIssuer();
    issuer.nonce = new URL(left.pop()!).searchParams.get('nonce')!;
    const pending = JSON.parse(sessionStorage.getItem(PENDING)!) as { state: string };
    sessionStorage.setItem('bathysphere.drafts', '{"new":"secret"}');
    issuer.subject = 'eve';
    issuer.accepted = 'access-2';
    const back = comeBack({ code: 'c', state: pending.state });
    await back.session.look();
    expect([left, sessionStorage.getItem('bathysphere.drafts'), back.session.me]).toEqual([['/'], null, null]);
  });
});

describe('a token', () => {
  it('is renewed once when it is refused, and every request is sent again', async () => {
    const { api, session } = await signIn();
    issuer.accepted = 'access-2';
    await Promise.all([api.me(), api.me(), api.me()]);
    expect(issuer.calls.filter((path) => path === '/token')).toHaveLength(2);
    expect([session.isAsking, JSON.parse(sessionStorage.getItem(REFRESH)!)]).toEqual([
      false,
      { refresh: 'refresh-2', subject: 'ada' },
    ]);
  });

  it('is renewed before it ends', async () => {
    issuer.lifetime = 1;
    const { session } = await signIn();
    await vi.waitFor(() => expect(issuer.access).not.toBe('access-1'), 3000);
    expect(session.isAsking).toBe(false);
    await session.signOut(); // otherwise it is renewed each second, in the next test too
  });

  it('is asked for again when the issuer refuses, with a sentence', async () => {
    const { api, session } = await signIn();
    issuer.accepted = 'none';
    issuer.error = 'invalid_grant';
    await expect(api.me()).rejects.toThrow();
    expect([session.isAsking, session.problem, sessionStorage.getItem(REFRESH)]).toEqual([true, text.signIn.expired, null]);
  });

  it('is kept while the issuer is unavailable: that is a lost connection, not a sign-out', async () => {
    const { api, session } = await signIn();
    issuer.accepted = 'access-2';
    issuer.isThere = false;
    await expect(api.me()).rejects.toThrow(text.errors.offline);
    expect([session.isAsking, sessionStorage.getItem(REFRESH) !== null]).toEqual([false, true]);
    issuer.isThere = true;
    expect((await api.me()).user).toBe('ada');
  });

  it('of somebody else is refused when it is renewed', async () => {
    const { api, session } = await signIn();
    issuer.accepted = 'access-2';
    issuer.subject = 'eve';
    await expect(api.me()).rejects.toThrow();
    expect(session.isAsking).toBe(true);
  });

  it('outlives a reload by its refresh token, and without one it does not', async () => {
    await signIn();
    issuer.accepted = 'access-2';
    const after = new Session(new Api());
    await after.look();
    expect(after.me?.user).toBe('ada');
    issuer.hasRefresh = false;
    sessionStorage.clear();
    await expect(new Session(new Api()).look()).rejects.toThrow();
  });
});

describe('tabs', () => {
  /** A new tab has storage of its own, which is empty. */
  async function newTab() {
    sessionStorage.clear();
    const api = new Api();
    const session = new Session(api);
    await session.look().catch(() => undefined);
    await vi.waitFor(() => expect(session.isAsking).toBe(false));
    return { api, session };
  }

  it('share a sign-in: a new one is in without asking', async () => {
    await signIn();
    const calls = issuer.calls.length;
    const { session } = await newTab();
    expect([session.me?.user, issuer.calls.slice(calls)]).toEqual(['ada', []]);
  });

  it('renew a token once for all of them', async () => {
    const first = await signIn();
    const second = await newTab();
    issuer.accepted = 'access-2';
    await Promise.all([first.api.me(), second.api.me()]);
    await Promise.all([second.api.me(), first.api.me()]);
    expect(issuer.calls.filter((path) => path === '/token')).toHaveLength(2);
    expect([first.session.isAsking, second.session.isAsking]).toEqual([false, false]);
  });

  it('do not take over the sign-in of somebody else', async () => {
    const { api } = await signIn();
    const channel = new FakeChannel();
    const tokens = { access: 'access-9', refresh: 'r', idToken: null, subject: 'eve', since: Date.now() + 9, lifetimeMs: null };
    channel.postMessage({ kind: 'tokens', issuer: `${ISSUER} browser`, tokens });
    channel.postMessage({ kind: 'tokens', issuer: 'https://evil.example browser', tokens: { ...tokens, subject: 'ada' } });
    await new Promise((resolve) => setTimeout(resolve));
    expect((await api.me()).user).toBe('ada');
    expect(sessionStorage.getItem(REFRESH)).toContain('refresh-1');
  });
});

describe('signing out', () => {
  it('forgets, and ends the session at the issuer', async () => {
    const { session } = await signIn();
    await session.signOut();
    const page = new URL(left.pop()!);
    expect(page.origin + page.pathname).toBe(`${ISSUER}/end`);
    expect(page.searchParams.get('post_logout_redirect_uri')).toBe(`${location.origin}/`);
    expect(page.searchParams.get('id_token_hint')).toBeTruthy();
    expect(sessionStorage.getItem(REFRESH)).toBeNull();
  });

  it('leaves nothing that was written for the next person, here and in other tabs', async () => {
    const { session } = await signIn();
    for (const end of [() => session.signOut(), () => Promise.resolve(session.leave())]) {
      sessionStorage.setItem(DRAFTS, JSON.stringify({ new: 'My salary is' }));
      await end();
      expect(sessionStorage.getItem(DRAFTS)).toBeNull();
    }
  });

  it('stays here if the issuer has no page for it, or in another tab', async () => {
    delete issuer.metadata['end_session_endpoint'];
    const { session } = await signIn();
    await session.signOut();
    session.leave();
    expect(left).toEqual(['/', '/']);
  });
});
