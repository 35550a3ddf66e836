/**
 * The app as a public client of an OpenID Connect issuer: authorization code with PKCE.
 *
 * Loaded when somebody signs in. Whatever goes wrong is a `SignInError` with a sentence to show.
 */
import * as oauth from 'oauth4webapi';
import type { IssuerWire } from '$lib/protocol/api';
import { text } from '$lib/text';
import { RETURN_PATH, type Pending } from './arrival';

export interface Tokens {
  readonly access: string;
  readonly refresh: string | null;
  readonly idToken: string | null;
  readonly subject: string;
  /** When they were issued, by this browser's clock. */
  readonly since: number;
  /** For how long the access token is valid; null if the issuer does not say. */
  readonly lifetimeMs: number | null;
}

export class SignInError extends Error {
  constructor(
    message: string,
    /** The issuer has decided; otherwise it may work later. */
    readonly isFinal = true,
  ) {
    super(message);
  }
}

/** Of the address that people are sent to: never a script. */
const SAFE = ['https:', 'http:'];
const REVOKE_MS = 2_000;

export class IssuerClient {
  readonly #client: oauth.Client;
  readonly #issuer: URL;
  readonly #options: { [oauth.allowInsecureRequests]: boolean };
  #server: Promise<oauth.AuthorizationServer> | null = null;

  constructor(private readonly offer: IssuerWire) {
    this.#issuer = new URL(offer.issuer);
    this.#client = { client_id: offer.client_id };
    // The server accepts an issuer without https on its own machine only.
    this.#options = { [oauth.allowInsecureRequests]: this.#issuer.protocol === 'http:' };
  }

  /** Where to send the person, and what to remember until they are back. */
  async begin(back: string, who: string | null): Promise<{ url: string; pending: Pending }> {
    const server = await this.#discover();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const verifier = oauth.generateRandomCodeVerifier();
    const url = this.#page(server.authorization_endpoint, {
      response_type: 'code',
      client_id: this.offer.client_id,
      redirect_uri: returnAddress(),
      scope: this.offer.scopes.join(' '),
      audience: this.offer.audience, // some issuers need it for a token that names the server; others ignore it
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    if (url === null) throw new SignInError(text.signIn.invalid);
    return { url, pending: { state, nonce, verifier, back, who } };
  }

  /** Exchange the code that came back; refused unless it answers what this tab asked. */
  async exchange(parameters: URLSearchParams, { state, nonce, verifier }: Pending): Promise<Tokens> {
    const server = await this.#discover();
    return this.#guard(async () => {
      const checked = oauth.validateAuthResponse(server, this.#client, parameters, state);
      const response = await oauth.authorizationCodeGrantRequest(
        server, this.#client, oauth.None(), checked, returnAddress(), verifier, this.#options,
      );
      const options = { expectedNonce: nonce, requireIdToken: true };
      return tokensOf(await oauth.processAuthorizationCodeResponse(server, this.#client, response, options), null);
    });
  }

  async refresh(refresh: string, subject: string): Promise<Tokens> {
    const server = await this.#discover();
    return this.#guard(async () => {
      const response = await oauth.refreshTokenGrantRequest(server, this.#client, oauth.None(), refresh, this.#options);
      const answer = await oauth.processRefreshTokenResponse(server, this.#client, response);
      const tokens = tokensOf(answer, { refresh, subject });
      if (tokens.subject !== subject) throw new SignInError(text.signIn.invalid);
      return tokens;
    });
  }

  /** End the sign-in at the issuer as well; the page that does it, if the issuer has one. */
  async end({ refresh, idToken }: Tokens): Promise<string | null> {
    const server = await this.#discover();
    if (refresh && server.revocation_endpoint) {
      const options = { ...this.#options, signal: AbortSignal.timeout(REVOKE_MS) };
      await oauth.revocationRequest(server, this.#client, oauth.None(), refresh, options).catch(() => undefined);
    }
    return this.#page(server.end_session_endpoint, {
      client_id: this.offer.client_id,
      post_logout_redirect_uri: `${location.origin}/`,
      ...(idToken ? { id_token_hint: idToken } : {}),
    });
  }

  #page(endpoint: string | undefined, parameters: Record<string, string>): string | null {
    if (!endpoint) return null;
    const url = new URL(endpoint);
    const isSafe = SAFE.includes(url.protocol) && (url.protocol === 'https:' || this.#issuer.protocol === 'http:');
    if (!isSafe) return null;
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  async #discover(): Promise<oauth.AuthorizationServer> {
    this.#server ??= this.#guard(async () =>
      oauth.processDiscoveryResponse(this.#issuer, await oauth.discoveryRequest(this.#issuer, this.#options)),
    );
    try {
      return await this.#server;
    } catch (error) {
      this.#server = null;
      throw error;
    }
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof SignInError ? error : explained(error);
    }
  }
}

const returnAddress = (): string => location.origin + RETURN_PATH;

function tokensOf(answer: oauth.TokenEndpointResponse, before: { refresh: string; subject: string } | null): Tokens {
  const subject = oauth.getValidatedIdTokenClaims(answer)?.sub ?? before?.subject;
  if (subject === undefined) throw new SignInError(text.signIn.invalid);
  return {
    access: answer.access_token,
    refresh: answer.refresh_token ?? before?.refresh ?? null,
    idToken: answer.id_token ?? null,
    subject,
    since: Date.now(),
    lifetimeMs: answer.expires_in === undefined ? null : answer.expires_in * 1000,
  };
}

function explained(error: unknown): SignInError {
  if (error instanceof oauth.AuthorizationResponseError) {
    const { error: code, error_description: words } = error;
    return new SignInError(code === 'access_denied' ? text.signIn.denied : text.signIn.refusedBy(plain(words ?? code)));
  }
  if (error instanceof oauth.ResponseBodyError) {
    const { error: code, error_description: words, status } = error;
    if (code === 'invalid_grant') return new SignInError(text.signIn.expired);
    return new SignInError(text.signIn.refusedBy(plain(words ?? code)), status < 500);
  }
  // A network error, or an answer that is not one of the protocol's: 502 of a proxy, for example.
  const isElsewhere = error instanceof TypeError || isUnavailable(error);
  return isElsewhere ? new SignInError(text.signIn.unreachable, false) : new SignInError(text.signIn.invalid);
}

function isUnavailable(error: unknown): boolean {
  const isOne = error instanceof oauth.OperationProcessingError && error.cause instanceof Response;
  return isOne && (error.cause as Response).status >= 500;
}

/** The issuer's words as one short line of text. */
const plain = (words: string): string => words.replace(/\p{C}/gu, ' ').trim().slice(0, 200);
