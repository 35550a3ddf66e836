/**
 * Who is here: the credential, where it is kept, and the sign-in view when the server asks for one.
 *
 * The credential is an access key that was pasted, or the token of a sign-in at the server's issuer.
 * A server without keys lets everyone on its machine in; then nothing here is ever seen.
 */
import { readStored, removeStored, writeStored, type Lifetime } from '$lib/browser-storage';
import { Refusal, type Api } from '$lib/protocol/api';
import { hasKept, type Arrival } from '$lib/sign-in/arrival';
import type { Issuer } from '$lib/sign-in/issuer';
import { text } from '$lib/text';
import { STORED as DRAFTS } from './drafts.svelte';

const STORED = 'bathysphere.key';

/** For how long a key is kept: as long as the tab is open, or until it is signed out. */
export type Keeping = Lifetime;

export interface Me {
  readonly tenant: string;
  readonly user: string;
  readonly isAdmin: boolean;
  readonly workspaces: readonly string[];
}

export class Session {
  #me = $state.raw<Me | null>(null);
  #isAsking = $state(false);
  #problem = $state<string | null>(null);
  #hasKey = $state(false);
  #issuerName = $state<string | null>(null);
  #isFinding = $state(false);
  #issuer: Promise<Issuer | null> | null = null;
  #open: Issuer | null = null;
  /** Who left for the issuer: whoever comes back finds what they wrote, and nobody else does. */
  #before: string | null;
  /** Called when the person may come in, for the first time or again. */
  onsignin: () => void | Promise<void> = () => undefined;
  /** Called when the server refuses the key. */
  onrefused: () => void = () => undefined;

  constructor(
    private readonly api: Api,
    arrival: Arrival | null = null,
  ) {
    const key = readStored(STORED, 'tab') ?? readStored(STORED);
    this.#use(key);
    this.#before = arrival?.pending?.who ?? null;
    api.onrefused = (refusal) => this.#ask(refusal);
    api.renew = (refused) => this.#renew(refused);
    if (arrival || (key === null && hasKept())) api.entering = this.#enter(arrival);
  }

  /** As the server knows them; null until it has said. */
  get me(): Me | null {
    return this.#me;
  }

  /** Whether the sign-in view is in place of the app; what was typed stays behind it. */
  get isAsking(): boolean {
    return this.#isAsking;
  }

  get problem(): string | null {
    return this.#problem;
  }

  get isSignedIn(): boolean {
    return this.#hasKey && !this.#isAsking;
  }

  /** The issuer that people sign in at, if the server has one. */
  get issuerName(): string | null {
    return this.#issuerName;
  }

  /** Whether it is not known yet how people sign in here. */
  get isFinding(): boolean {
    return this.#isFinding;
  }

  /** Ask the server who this is. */
  async look(): Promise<void> {
    const me = await this.#whoIsThis();
    if (this.#before !== null && this.#before !== nameOf(me)) return startOver();
    this.#me = me;
  }

  async signIn(key: string, keeping: Keeping): Promise<void> {
    this.#problem = null;
    if (!/^[\x21-\x7e]+$/.test(key)) {
      this.#problem = text.signIn.malformed;
      return;
    }
    this.#use(key);
    await this.#comeIn(() => this.#keep(key, keeping));
  }

  /** Leave for the issuer. What was typed is there on the way back. */
  async signInAtIssuer(): Promise<void> {
    this.#problem = null;
    try {
      await (await this.#openIssuer())?.begin(this.#me && nameOf(this.#me));
    } catch (error) {
      this.#problem = sentence(error);
    }
  }

  /** Forget the credential, in memory and in storage, and at the issuer; the page reloads. */
  async signOut(): Promise<void> {
    const page = this.#open ? await this.#open.leave() : null;
    this.#forget();
    startOver(page ?? '/');
  }

  /** Another tab has signed out. */
  leave(): void {
    this.#open?.forget();
    this.#forget();
    startOver();
  }

  #ask(refusal: Refusal): void {
    if (refusal.status !== 401) return;
    if (this.#hasKey) this.#problem ??= refusal.message;
    this.#forget();
    const isNew = !this.#isAsking;
    this.#isAsking = true;
    this.onrefused();
    if (isNew) void this.#offer();
  }

  /** Show the way to the issuer, unless another tab is signed in there already. */
  async #offer(): Promise<void> {
    this.#isFinding = true;
    const issuer = await this.#openIssuer().catch(() => null);
    this.#isFinding = false;
    if (!this.#isAsking || !issuer) return;
    if (!hasKept()) await issuer.restore().catch(() => false); // a token that comes is used at once
  }

  /** Come in with what the issuer sent along, or with what this tab has kept. */
  async #enter(arrival: Arrival | null): Promise<void> {
    try {
      const issuer = await this.#openIssuer();
      if (arrival) await issuer?.arrive(arrival);
      else await issuer?.restore();
    } catch (error) {
      this.#problem = sentence(error); // shown when the server refuses to go on without it
    }
  }

  async #renew(refused: string | null): Promise<string | null> {
    if (!this.#open?.holds(refused)) return null;
    try {
      return await this.#open.renew(refused);
    } catch (error) {
      if (this.#open.holds(refused)) throw error; // it may work later, as with a lost connection
      this.#problem = sentence(error);
      return null;
    }
  }

  #openIssuer(): Promise<Issuer | null> {
    this.#issuer ??= this.#findIssuer();
    this.#issuer.catch(() => (this.#issuer = null));
    return this.#issuer;
  }

  async #findIssuer(): Promise<Issuer | null> {
    const offer = await this.api.issuer();
    if (!offer) return null;
    const { Issuer } = await import('$lib/sign-in/issuer');
    this.#open = new Issuer(offer);
    this.#open.ontoken = (access) => this.#receive(access);
    this.#issuerName = new URL(offer.issuer).host;
    return this.#open;
  }

  /** A token of the issuer: new, renewed, or of another tab. */
  #receive(access: string): void {
    if (readStored(STORED, 'tab') ?? readStored(STORED)) this.#wipe();
    this.#use(access);
    if (this.#isAsking) void this.#comeIn();
  }

  async #comeIn(accepted: () => void = () => undefined): Promise<void> {
    try {
      const me = await this.#whoIsThis();
      accepted();
      if (this.#me && !isSame(this.#me, me)) return startOver(); // nothing of the one before is left
      this.#me = me;
      this.#problem = null;
      this.#isAsking = false;
      await this.onsignin();
    } catch (error) {
      this.#use(null);
      this.#problem = sentence(error);
    }
  }

  async #whoIsThis(): Promise<Me> {
    const { tenant, user, roles = [], workspaces } = await this.api.me();
    return { tenant, user, isAdmin: roles.includes('admin'), workspaces: workspaces.map(({ name }) => name) };
  }

  #use(key: string | null): void {
    this.api.use(key);
    this.#hasKey = key !== null;
  }

  #keep(key: string, keeping: Keeping): void {
    this.#wipe();
    writeStored(STORED, key, keeping);
  }

  #forget(): void {
    this.#use(null);
    this.#wipe();
  }

  #wipe(): void {
    removeStored(STORED, 'tab');
    removeStored(STORED);
  }
}

function isSame(a: Me, b: Me): boolean {
  return nameOf(a) === nameOf(b);
}

const nameOf = ({ tenant, user }: Me): string => JSON.stringify([tenant, user]);

/** Leave the page for the next person, who is not to see what this one wrote. */
function startOver(page = '/'): void {
  removeStored(DRAFTS, 'tab');
  location.assign(page);
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : text.errors.failed;
}
