import { afterEach, describe, expect, it, vi } from 'vitest';
import { Api } from '$lib/protocol/api';
import { Session } from './session.svelte';

const KEY = 'bathysphere.key';
const me = { tenant: 'acme', user: 'ada', workspaces: [{ name: 'main' }] };

/** A server that knows one key, and counts who asks with which. */
function server(known: { key: string | null }) {
  const shown: (string | null)[] = [];
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    if (path === '/sign-in') return Response.json({ issuer: null });
    const key = new Headers(init.headers).get('x-api-key');
    shown.push(key);
    if (key === known.key) return Response.json(me);
    return Response.json({ error: 'unauthenticated', message: 'the API key was revoked' }, { status: 401 });
  });
  return shown;
}

afterEach(() => {
  vi.unstubAllGlobals();
  sessionStorage.clear();
  localStorage.clear();
});

describe('a session', () => {
  it('keeps a key for the tab, or on the device if it is said so', async () => {
    server({ key: 'right' });
    const session = new Session(new Api());
    await session.signIn('right', 'tab');
    expect([sessionStorage.getItem(KEY), localStorage.getItem(KEY)]).toEqual(['right', null]);
    expect([session.me?.user, session.isSignedIn, session.isAsking]).toEqual(['ada', true, false]);
    await session.signIn('right', 'device');
    expect([sessionStorage.getItem(KEY), localStorage.getItem(KEY)]).toEqual([null, 'right']);
  });

  it('keeps no wrong key, and sends none that no header can carry', async () => {
    const shown = server({ key: 'right' });
    const session = new Session(new Api());
    await session.signIn('wrong', 'device');
    expect([localStorage.getItem(KEY), session.problem]).toEqual([null, 'the API key was revoked']);
    await session.signIn('with blanks', 'tab');
    await session.signIn('schlüssel\u202e', 'tab');
    expect(shown).toEqual(['wrong']);
  });

  it('asks again when its key is refused, and forgets it', async () => {
    const known = { key: 'right' as string | null };
    server(known);
    const api = new Api();
    const session = new Session(api);
    await session.signIn('right', 'device');
    known.key = 'another';
    await expect(api.models()).rejects.toThrow('revoked');
    expect([session.isAsking, localStorage.getItem(KEY)]).toEqual([true, null]);
  });

  it('is not asked for by a late refusal of the key before: the request is sent again', async () => {
    const known = { key: 'old' as string | null };
    const shown = server(known);
    const api = new Api();
    const session = new Session(api);
    await session.signIn('old', 'tab');
    known.key = 'new';
    const late = api.models().catch(() => undefined); // sent with the old key
    api.use('new');
    await late;
    expect([session.isAsking, shown]).toEqual([false, ['old', 'old', 'new']]);
  });
});
