/**
 * A sign-in at an issuer, over its life: begun, come back from, renewed, shared among tabs, ended.
 *
 * The access token is in memory only. The refresh token is also in the tab's own storage, so that
 * a reload needs no sign-in; it is gone with the tab.
 */
import type { IssuerWire } from '$lib/protocol/api';
import { runWhenFree } from '$lib/locks';
import { text } from '$lib/text';
import { here, keepPending, readKept, writeKept, type Arrival } from './arrival';
import { IssuerClient, SignInError, type Tokens } from './client';
import { Peers } from './peers';

const LOCK = 'bathysphere.refresh';
const EARLIEST_MS = 60_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Issuer {
  readonly #client: IssuerClient;
  readonly #peers: Peers;
  #tokens: Tokens | null = null;
  #renewing: Promise<string | null> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** How often this tab has forgotten: what was under way then is not taken. */
  #forgotten = 0;
  /** Told of every new access token: one that was renewed, or that another tab has. */
  ontoken: (access: string) => void = () => undefined;

  constructor(offer: IssuerWire) {
    this.#client = new IssuerClient(offer);
    this.#peers = new Peers(`${offer.issuer} ${offer.client_id}`, () => this.#tokens, (tokens) => this.#adopt(tokens));
  }

  /** Leave for the issuer; the person comes back to where they are. */
  async begin(who: string | null): Promise<void> {
    const { url, pending } = await this.#client.begin(here(), who);
    if (!keepPending(pending)) throw new SignInError(text.signIn.noStorage);
    location.assign(url);
  }

  async arrive({ parameters, pending }: Arrival): Promise<void> {
    if (!pending) throw new SignInError(text.signIn.notBegun);
    this.#take(await this.#client.exchange(parameters, pending));
  }

  /** Whether this tab is signed in, by what it kept or by another tab. */
  async restore(): Promise<boolean> {
    if (readKept()) return (await this.renew(null)) !== null;
    await this.#peers.ask(0);
    return this.#tokens !== null;
  }

  /**
   * A new access token; null if there is none to be had. One refresh at a time, in all tabs.
   * @param refused The access token that is not accepted any more; null for none.
   */
  renew(refused: string | null): Promise<string | null> {
    if (refused !== null && refused !== this.#tokens?.access) return Promise.resolve(this.#tokens?.access ?? null);
    this.#renewing ??= this.#renew(refused).finally(() => (this.#renewing = null));
    return this.#renewing;
  }

  holds(access: string | null): boolean {
    return access !== null && access === this.#tokens?.access;
  }

  forget(): void {
    clearTimeout(this.#timer);
    this.#forgotten += 1;
    this.#tokens = null;
    writeKept(null);
  }

  /** Forget, and end the sign-in at the issuer; the page that does so, if there is one. */
  async leave(): Promise<string | null> {
    const tokens = this.#tokens;
    this.forget();
    return tokens ? this.#client.end(tokens).catch(() => null) : null;
  }

  async #renew(refused: string | null): Promise<string | null> {
    let access: string | null = null;
    const newer = () => (this.#tokens?.access !== refused ? (this.#tokens?.access ?? null) : null);
    await runWhenFree(LOCK, new AbortController().signal, async () => {
      if (newer() === null) await this.#peers.ask(this.#tokens?.since ?? 0); // another tab may have been first
      access = newer() ?? (await this.#refresh());
    });
    return access;
  }

  async #refresh(): Promise<string | null> {
    const kept = this.#tokens?.refresh ? { refresh: this.#tokens.refresh, subject: this.#tokens.subject } : readKept();
    if (!kept) {
      this.forget();
      return null;
    }
    const forgotten = this.#forgotten;
    try {
      const tokens = await this.#client.refresh(kept.refresh, kept.subject);
      if (forgotten !== this.#forgotten) return null;
      this.#take({ ...tokens, idToken: tokens.idToken ?? this.#tokens?.idToken ?? null });
      return tokens.access;
    } catch (error) {
      if (error instanceof SignInError && error.isFinal) this.forget();
      throw error;
    }
  }

  #take(tokens: Tokens): void {
    this.#keep(tokens);
    this.#peers.tell(tokens);
  }

  /** Another tab's tokens, if they are newer and of the same person. */
  #adopt(tokens: Tokens): void {
    const subject = this.#tokens?.subject ?? readKept()?.subject ?? tokens.subject;
    if (tokens.subject === subject && tokens.since > (this.#tokens?.since ?? 0)) this.#keep(tokens);
  }

  #keep(tokens: Tokens): void {
    this.#tokens = tokens;
    writeKept(tokens.refresh ? { refresh: tokens.refresh, subject: tokens.subject } : null);
    this.#schedule(tokens);
    this.ontoken(tokens.access);
  }

  /** Renew before it ends: a minute, or a fifth of a short life. */
  #schedule({ access, refresh, since, lifetimeMs }: Tokens): void {
    clearTimeout(this.#timer);
    if (!refresh || lifetimeMs === null) return;
    const wait = Math.max(0, since + lifetimeMs - Math.min(EARLIEST_MS, lifetimeMs / 5) - Date.now());
    // What fails here is met again, and said, when the server refuses the old one.
    this.#timer = setTimeout(() => void this.renew(access).catch(() => undefined), Math.min(wait, LONGEST_TIMER_MS));
  }
}
