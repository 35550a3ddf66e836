/** Calls to the server. What the server refuses is a `Refusal` with a sentence for the person. */
import { capitalized } from '$lib/format';
import { text } from '$lib/text';
import { dataOf } from './sse';
import type {
  AssistantWire,
  CommandAnswer,
  Fields,
  Json,
  RunWire,
  StateWire,
  ThreadHitWire,
  ThreadWire,
} from './wire';

export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status = 0,
  ) {
    super(message);
  }

  /** Whether trying the same again later may work. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** Whether the server did not answer at all. */
  get isOffline(): boolean {
    return this.code === 'offline';
  }

  /** Whether what was asked for is not there, or is not the caller's. */
  get isMissing(): boolean {
    return this.status === 404;
  }
}

export interface ThreadQuery {
  limit?: number;
  offset?: number;
  ids?: string[];
  /** Words that the title has. */
  titleContains?: string;
}

/** Cancels requests whose answer nobody waits for any more. */
export interface Waiting {
  signal?: AbortSignal;
}

export interface RunStart {
  agent: string;
  input?: Fields | null;
  checkpoint?: string | null;
  /** One of the models that are offered; without it, the operator's. */
  model?: string | null;
}

/** In the config of a run, and in the metadata of the thread that it was chosen for. */
export const MODEL = 'bathysphere_model';

export interface Answer {
  id: string;
  response: Json;
}

/** What a model costs, per million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
  currency: string;
}

/** The model of a role, or one that is offered for conversations: where the person's words go. */
export interface ModelCard {
  role: string;
  name: string;
  provider: string;
  is_local: boolean;
  is_demo: boolean;
  is_usable: boolean;
  detail: string;
  hint: string | null;
  /** How much agents ask of it. */
  profile: 'full' | 'lean';
  /** What it can be trusted with, if it was tested. */
  trust: string | null;
  /** Whether the person may choose another one here. */
  is_changeable: boolean;
  /** The operator's name for an offered model. */
  label?: string | null;
  price?: ModelPrice | null;
  /** The agents that can be asked with an offered model. */
  agents?: readonly string[];
}

/** How far the server is with loading its model. */
export interface LoadProgress {
  status: 'downloading' | 'loading' | 'ready' | 'error';
  /** Percent. */
  progress?: number;
  file?: string;
  error?: string;
  hint?: string | null;
}

/** Who the caller is for the server, and the workspaces of their team that they may use. */
export interface MeWire {
  tenant: string;
  user: string;
  roles?: string[];
  workspaces: { name: string }[];
}

/** Where people sign in, and the app's public client there. */
export interface IssuerWire {
  issuer: string;
  client_id: string;
  scopes: string[];
  audience: string;
}

/** A page of the web, as the server read it. */
export interface PageWire {
  url: string;
  final_url: string;
  title: string;
  text: string;
}

export class Api {
  #key: string | null = null;
  #count = 0;
  /** Nothing is asked before the person is back in. */
  entering: Promise<unknown> | null = null;
  /** Get another key for the one that was refused; null if there is none. */
  renew: (key: string | null) => Promise<string | null> = () => Promise.resolve(null);
  /** Told of every refusal of the key that is in use. */
  onrefused: (refusal: Refusal) => void = () => undefined;
  /** Told when the server answers again after it could not be reached. */
  onreached: () => void = () => undefined;
  #isAway = false;

  /** `fetch` is taken once: an app that a test left behind does not reach the next test's server. */
  constructor(
    private readonly base = '',
    private readonly call: typeof fetch = globalThis.fetch.bind(globalThis),
  ) {}

  /** The key that servers with `--auth api-key` ask for. */
  use(key: string | null): void {
    this.#key = key;
  }

  #headers(): Record<string, string> {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (this.#key) headers['x-api-key'] = this.#key;
    return headers;
  }

  me(): Promise<MeWire> {
    return this.send('GET', '/workspaces');
  }

  /** Where people sign in to this server; null if with keys only. Needs no key, and waits for none. */
  async issuer(): Promise<IssuerWire | null> {
    const response = await this.#reach('/sign-in', { method: 'GET' });
    if (!response.ok) return null; // a server of an earlier version
    return ((await response.json()) as { issuer: IssuerWire | null }).issuer;
  }

  /** Let the server fetch a page; the person has said that it may. */
  page(url: string): Promise<PageWire> {
    return this.send('POST', '/api/pages', { url });
  }

  /** The version of the server. */
  async version(): Promise<string> {
    return (await this.send<{ version: string }>('GET', '/info')).version;
  }

  models(): Promise<ModelCard[]> {
    return this.send('GET', '/models');
  }

  /** Load the server's own model unless it is loaded, and tell the progress. */
  async *loadModel(): AsyncGenerator<LoadProgress> {
    const response = await this.fetch('/api/model/load', { method: 'POST' });
    if (!response.ok || !response.body) throw await refusalOf(response);
    for await (const data of dataOf(response.body)) yield JSON.parse(data) as LoadProgress;
  }

  assistants(): Promise<AssistantWire[]> {
    return this.send('POST', '/assistants/search', { limit: 100 });
  }

  threads({ limit = 100, offset = 0, ids, titleContains }: ThreadQuery = {}): Promise<ThreadWire[]> {
    const select = ['thread_id', 'created_at', 'updated_at', 'status', 'metadata'];
    const which = { ...(ids ? { ids } : {}), ...(titleContains ? { title_contains: titleContains } : {}) };
    return this.send('POST', '/threads/search', { limit, offset, select, ...which });
  }

  /** Threads with messages that have all these words. */
  searchMessages(query: string): Promise<ThreadHitWire[]> {
    return this.send('POST', '/threads/messages/search', { query: query.slice(0, 200) });
  }

  /** The thread's newest runs, newest first. */
  runs(id: string, { signal }: Waiting = {}): Promise<RunWire[]> {
    const select = ['run_id', 'status', 'kwargs'].map((name) => `&select=${name}`).join('');
    return this.send('GET', `/threads/${id}/runs?limit=20${select}`, undefined, { signal });
  }

  createThread(id: string, metadata: Fields): Promise<ThreadWire> {
    return this.send('POST', '/threads', { thread_id: id, metadata, if_exists: 'do_nothing' });
  }

  updateThread(id: string, metadata: Fields): Promise<ThreadWire> {
    return this.send('PATCH', `/threads/${id}`, { metadata });
  }

  async deleteThread(id: string): Promise<void> {
    await this.send('DELETE', `/threads/${id}`);
  }

  state(id: string, checkpoint?: string): Promise<StateWire> {
    const place = checkpoint ? `/${encodeURIComponent(checkpoint)}` : '';
    return this.send('GET', `/threads/${id}/state${place}`);
  }

  /** The newest state, and the number of an event that it has, with all before it. */
  async currentState(id: string, waiting: Waiting): Promise<{ state: StateWire; position: number }> {
    const response = await this.#ask('GET', `/threads/${id}/state`, undefined, waiting);
    const position = Number(response.headers.get('x-applied-through-seq'));
    return { state: (await response.json()) as StateWire, position };
  }

  history(id: string, { limit = 20, before }: { limit?: number; before?: string } = {}): Promise<StateWire[]> {
    return this.send('POST', `/threads/${id}/history`, { limit, ...(before ? { before } : {}) });
  }

  async startRun(id: string, run: RunStart): Promise<string> {
    const configurable = {
      thread_id: id,
      ...(run.checkpoint ? { checkpoint_id: run.checkpoint } : {}),
      ...(run.model ? { [MODEL]: run.model } : {}),
    };
    const answer = await this.command(id, 'run.start', {
      assistant_id: run.agent,
      input: run.input ?? null,
      config: { configurable },
    });
    return String(answer.result['run_id']);
  }

  async respond(id: string, answers: readonly Answer[]): Promise<Fields> {
    const responses = answers.map(({ id: interrupt_id, response }) => ({ interrupt_id, response, namespace: [] }));
    return (await this.command(id, 'input.respond', { responses })).result;
  }

  async cancel(id: string, run: string): Promise<void> {
    await this.send('POST', `/threads/${id}/runs/${run}/cancel?wait=0&action=interrupt`);
  }

  async command(
    id: string,
    method: string,
    params: Fields,
    waiting: Waiting = {},
  ): Promise<Extract<CommandAnswer, { type: 'success' }>> {
    const command = { id: ++this.#count, method, params };
    const answer = await this.send<CommandAnswer>('POST', `/threads/${id}/commands`, command, waiting);
    if (answer.type === 'error') throw new Refusal(answer.error, answer.message, 400);
    return answer;
  }

  /** The one way to the server: with the key, and with an ear for its refusal. */
  async fetch(path: string, init: RequestInit): Promise<Response> {
    if (this.entering) await this.entering;
    const key = this.#key;
    const response = await this.#reach(path, init);
    if (response.status !== 401) return response;
    // What was refused has done nothing, so it can be sent again; another request may have renewed the key.
    const isRenewed = key === this.#key ? (await this.renew(key)) !== null : this.#key !== null;
    if (!isRenewed) return this.#refuse(response, key);
    const renewed = this.#key;
    const again = await this.#reach(path, init);
    return again.status === 401 ? this.#refuse(again, renewed) : again;
  }

  async #refuse(response: Response, key: string | null): Promise<Response> {
    const refusal = await refusalOf(response.clone());
    // Asked after the words were read: meanwhile another tab may have brought a key.
    if (key === this.#key) this.onrefused(refusal);
    return response;
  }

  async #reach(path: string, init: RequestInit): Promise<Response> {
    try {
      const response = await this.call(this.base + path, { ...init, headers: this.#headers() });
      const isBack = this.#isAway;
      this.#isAway = false;
      if (isBack) this.onreached();
      return response;
    } catch (error) {
      if (!init.signal?.aborted) this.#isAway = true;
      throw error;
    }
  }

  async send<T>(method: string, path: string, body?: unknown, waiting: Waiting = {}): Promise<T> {
    const response = await this.#ask(method, path, body, waiting);
    return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
  }

  async #ask(method: string, path: string, body?: unknown, { signal }: Waiting = {}): Promise<Response> {
    let response: Response;
    try {
      response = await this.fetch(path, { method, body: body === undefined ? undefined : JSON.stringify(body), signal });
    } catch {
      throw new Refusal('offline', text.errors.offline);
    }
    if (!response.ok) throw await refusalOf(response);
    return response;
  }
}

export async function refusalOf(response: Response): Promise<Refusal> {
  const body = (await response.json().catch(() => ({}))) as Partial<Record<'error' | 'message' | 'hint', string>>;
  const words = [body.message ?? text.errors.status(response.status), capitalized(body.hint ?? '')].filter(Boolean).join('. ');
  return new Refusal(body.error ?? 'failed', words, response.status);
}
