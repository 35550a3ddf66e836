/** The workspace: one object that every component reaches by `useWorkspace()`. */
import { getContext, setContext } from 'svelte';
import { starts } from '$lib/extend/all';
import { Api, Refusal } from '$lib/protocol/api';
import { newId } from '$lib/protocol/ids';
import type { Fields } from '$lib/protocol/wire';
import { Agents } from './agents.svelte';
import { Branches } from './branches.svelte';
import { Conversation } from './conversation.svelte';
import { Desk } from './desk.svelte';
import { Layout } from './layout.svelte';
import { Route } from './route.svelte';
import { Tabs } from './tabs';
import { Threads } from './threads.svelte';

const KEY = Symbol('workspace');
const REFRESH_MS = 20_000;
const STORED_KEY = 'bathysphere.key';

export class Workspace {
  readonly api: Api;
  readonly layout = new Layout();
  readonly route = new Route();
  readonly tabs = new Tabs();
  readonly threads: Threads;
  readonly agents: Agents;
  readonly desk: Desk;
  #conversation = $state.raw<Conversation>()!;
  #needsKey = $state(false);
  #startProblem = $state<string | null>(null);
  /** What the composer holds; features may put words there. */
  draft = $state('');
  /** Extra input for the next message, by the feature that adds it. */
  readonly inputs = new Map<string, () => Fields>();

  constructor(api: Api = new Api()) {
    this.api = api;
    api.use(sessionStorage.getItem(STORED_KEY));
    this.threads = new Threads(api);
    this.agents = new Agents(api);
    this.desk = new Desk(this);
    this.#conversation = new Conversation(newId(), api);
  }

  readonly thread = $derived.by(() => this.threads.get(this.#conversation.id));
  readonly branches = $derived.by(() => new Branches(this.#conversation, this.threads));
  /** The agent that answers here: the thread's own, or the one chosen for new threads. */
  readonly agent = $derived.by(
    () => this.thread?.agent ?? this.#conversation.view.graph ?? this.agents.chosen.name,
  );

  /** At work for the person, here or on the server. */
  readonly isBusy = $derived.by(() => this.#conversation.isBusy || this.desk.automatic.length > 0);

  get conversation(): Conversation {
    return this.#conversation;
  }

  get needsKey(): boolean {
    return this.#needsKey;
  }

  get startProblem(): string | null {
    return this.#startProblem;
  }

  async start(): Promise<void> {
    this.#startProblem = null;
    this.show(this.route.threadId);
    this.tabs.listen((notice) => {
      if (notice.kind === 'threads') void this.threads.load();
      else if (notice.threadId === this.#conversation.id) this.#conversation.markAnswered(notice.ids);
    });
    document.addEventListener('visibilitychange', () => {
      this.#conversation.setVisible(!document.hidden);
      if (!document.hidden) void this.threads.load();
    });
    setInterval(() => void (document.hidden || this.threads.load()), REFRESH_MS);
    addEventListener('online', () => this.#conversation.setVisible(true));
    await this.load();
    for (const begin of starts) await begin(this);
  }

  async load(): Promise<void> {
    try {
      await this.agents.load();
      this.#needsKey = false;
      this.#startProblem = null;
      await this.threads.load();
    } catch (error) {
      this.#needsKey = error instanceof Refusal && error.status === 401;
      this.#startProblem = error instanceof Error ? error.message : String(error);
    }
  }

  /** Use an access key, for as long as the tab is open. */
  async signIn(key: string): Promise<void> {
    sessionStorage.setItem(STORED_KEY, key);
    this.api.use(key);
    await this.load();
    if (!this.#needsKey) this.show(this.route.threadId);
  }

  /** Show a thread, or a new conversation. */
  show(id: string | null): void {
    if (id !== null && id === this.#conversation.id) return;
    this.#conversation.close();
    this.#conversation = new Conversation(id ?? newId(), this.api);
    if (id !== null) void this.threads.ensure(id);
    void this.#conversation.open({ isNew: id === null });
  }

  open(id: string): void {
    this.route.go(`/c/${id}`);
    this.show(id);
    this.layout.showChat();
  }

  begin(words = ''): void {
    this.route.go('/');
    this.show(null);
    this.draft = words;
    this.layout.showChat();
  }

  async send(words: string): Promise<boolean> {
    const { id } = this.#conversation;
    const agent = this.agent;
    const extra = Object.assign({}, ...[...this.inputs.values()].map((make) => make())) as Fields;
    if (this.#conversation.isNew) {
      this.route.go(`/c/${id}`, { replaces: true });
      // The run makes the thread too; its title may come a moment later.
      await this.threads.create(id, words, agent).catch(() => undefined);
      this.tabs.tell({ kind: 'threads' });
    }
    return this.#conversation.send(agent, words, extra);
  }

  async remove(id: string): Promise<void> {
    await this.threads.remove(id);
    this.tabs.tell({ kind: 'threads' });
    if (id === this.#conversation.id) this.begin();
  }
}

export function provideWorkspace(workspace: Workspace): Workspace {
  return setContext(KEY, workspace);
}

export function useWorkspace(): Workspace {
  return getContext<Workspace>(KEY);
}
