/** An issuer, and a server that accepts its newest token only; in the place of `fetch`. */
import { vi } from 'vitest';

export const ISSUER = 'https://login.example';
const part = (value: unknown) => btoa(JSON.stringify(value)).replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');

export class FakeIssuer {
  readonly calls: string[] = [];
  readonly codes = new Map<string, string>();
  metadata: Record<string, unknown> = {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/authorize`,
    token_endpoint: `${ISSUER}/token`,
    end_session_endpoint: `${ISSUER}/end`,
  };
  nonce = '';
  subject = 'ada';
  lifetime: number | undefined = 3600;
  hasRefresh = true;
  isThere = true;
  /** The error of the token endpoint. */
  error: string | null = null;
  refresh = 'refresh-0';
  access = 'access-0';
  /** How the server knows people by now. */
  accepted = 'access-1';
  #count = 0;

  install(): void {
    vi.stubGlobal('fetch', async (input: string | URL, init: RequestInit = {}) => this.fetch(String(input), init));
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    if (url.startsWith('/')) return this.#serve(url, init);
    this.calls.push(url.slice(ISSUER.length));
    if (!this.isThere) throw new TypeError('fetch failed');
    if (url.includes('.well-known')) return Response.json(this.metadata);
    if (url !== `${ISSUER}/token`) return new Response('');
    const form = new URLSearchParams(init.body as string | URLSearchParams);
    if (this.error) return Response.json({ error: this.error }, { status: 400 });
    if (form.get('grant_type') === 'refresh_token' && form.get('refresh_token') !== this.refresh) {
      return Response.json({ error: 'invalid_grant' }, { status: 400 });
    }
    return Response.json(this.#tokens());
  }

  #tokens(): Record<string, unknown> {
    this.#count += 1;
    this.access = `access-${this.#count}`;
    this.refresh = `refresh-${this.#count}`;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: ISSUER, aud: 'browser', sub: this.subject, iat: now, exp: now + 300, nonce: this.nonce };
    return {
      access_token: this.access,
      token_type: 'Bearer',
      expires_in: this.lifetime,
      id_token: `${part({ alg: 'RS256' })}.${part(claims)}.c2ln`,
      ...(this.hasRefresh ? { refresh_token: this.refresh } : {}),
    };
  }

  #serve(path: string, init: RequestInit): Response {
    if (path === '/sign-in') {
      return Response.json({ issuer: { issuer: ISSUER, client_id: 'browser', scopes: ['openid'], audience: 'us' } });
    }
    const key = new Headers(init.headers).get('x-api-key');
    if (key === this.accepted) return Response.json({ tenant: 'acme', user: this.subject, roles: ['admin'], workspaces: [] });
    return Response.json({ error: 'unauthenticated', message: 'The token has expired' }, { status: 401 });
  }
}
