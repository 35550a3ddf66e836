/**
 * Who is here: the access key, where it is kept, and the sign-in view when the server asks for one.
 *
 * A server without keys lets everyone on its machine in; then nothing here is ever seen.
 */
import { readStored, removeStored, writeStored, type Lifetime } from '$lib/browser-storage';
import { Refusal, type Api } from '$lib/protocol/api';
import { text } from '$lib/text';

const STORED = 'bathysphere.key';

/** For how long a key is kept: as long as the tab is open, or until it is signed out. */
export type Keeping = Lifetime;

export interface Me {
  readonly tenant: string;
  readonly user: string;
  readonly workspaces: readonly string[];
}

export class Session {
  #me = $state.raw<Me | null>(null);
  #isAsking = $state(false);
  #problem = $state<string | null>(null);
  #hasKey = $state(false);
  /** Called when the person may come in, for the first time or again. */
  onsignin: () => void | Promise<void> = () => undefined;
  /** Called when the server refuses the key. */
  onrefused: () => void = () => undefined;

  constructor(private readonly api: Api) {
    const key = readStored(STORED, 'tab') ?? readStored(STORED);
    this.#use(key);
    api.onrefused = (refusal) => this.#ask(refusal);
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

  /** Ask the server who this is. */
  async look(): Promise<void> {
    this.#me = await this.#whoIsThis();
  }

  async signIn(key: string, keeping: Keeping): Promise<void> {
    this.#problem = null;
    if (!/^[\x21-\x7e]+$/.test(key)) {
      this.#problem = text.signIn.malformed;
      return;
    }
    this.#use(key);
    try {
      const me = await this.#whoIsThis();
      this.#keep(key, keeping);
      if (this.#me && !isSame(this.#me, me)) return startOver(); // nothing of the one before is left
      this.#me = me;
      this.#isAsking = false;
      await this.onsignin();
    } catch (error) {
      this.#use(null);
      this.#problem = sentence(error);
    }
  }

  /** Forget the key, in memory and in storage; the page reloads. */
  signOut(): void {
    this.#forget();
    startOver();
  }

  #ask(refusal: Refusal): void {
    if (refusal.status !== 401) return;
    if (this.#hasKey) this.#problem = refusal.message;
    this.#forget();
    this.#isAsking = true;
    this.onrefused();
  }

  async #whoIsThis(): Promise<Me> {
    const { tenant, user, workspaces } = await this.api.me();
    return { tenant, user, workspaces: workspaces.map(({ name }) => name) };
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
  return a.tenant === b.tenant && a.user === b.user;
}

function startOver(): void {
  location.assign('/');
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : text.errors.failed;
}
