/** The workspace: one object that every component reaches by `useWorkspace()`. */
import { getContext, setContext } from 'svelte';
import { starts } from '$lib/extend/all';
import { Api } from '$lib/protocol/api';
import { newId } from '$lib/protocol/ids';
import type { Fields } from '$lib/protocol/wire';
import { Agents } from './agents.svelte';
import { Branches } from './branches.svelte';
import { Conversation } from './conversation.svelte';
import { Desk } from './desk.svelte';
import { Layout } from './layout.svelte';
import { Route } from './route.svelte';
import { Session } from './session.svelte';
import { Tabs } from './tabs';
import { Threads } from './threads.svelte';

const KEY = Symbol('workspace');
const REFRESH_MS = 20_000;

export class Workspace {
  readonly api: Api;
  readonly layout = new Layout();
  readonly route = new Route();
  readonly tabs = new Tabs();
  readonly session: Session;
  readonly threads: Threads;
  readonly agents: Agents;
  readonly desk: Desk;
  #conversation = $state.raw<Conversation>()!;
  /** What the composer holds; features may put words there. */
  draft = $state('');
  /** Extra input for the next message, by the feature that adds it. */
  readonly inputs = new Map<string, () => Fields>();

  constructor(api: Api = new Api()) {
    this.api = api;
    this.session = new Session(api);
    this.threads = new Threads(api);
    this.agents = new Agents(api);
    this.desk = new Desk(this);
    this.#conversation = new Conversation(newId(), api);
  }

  readonly thread = $derived.by(() => this.threads.get(this.#conversation.id));
  readonly branches = $derived.by(() => new Branches(this.#conversation, this.threads, () => this.#extra()));
  /** The agent that answers here: the thread's own, or the one chosen for new threads. */
  readonly agent = $derived.by(
    () => this.thread?.agent ?? this.#conversation.view.graph ?? this.agents.chosen.name,
  );

  /** At work for the person, here or on the server. */
  readonly isBusy = $derived.by(() => this.#conversation.isBusy || this.desk.automatic.length > 0);

  get conversation(): Conversation {
    return this.#conversation;
  }

  async start(): Promise<void> {
    this.session.onsignin = () => this.#comeIn();
    this.session.onrefused = () => this.#conversation.close();
    this.show(this.route.threadId);
    this.tabs.listen((notice) => {
      if (notice.kind === 'threads') void this.threads.load();
      else if (notice.kind === 'signed out') this.session.signOut();
      else if (notice.threadId === this.#conversation.id) this.#conversation.markAnswered(notice.keys);
    });
    document.addEventListener('visibilitychange', () => {
      this.#conversation.setVisible(!document.hidden);
      if (!document.hidden) this.#refresh();
    });
    setInterval(() => document.hidden || this.#refresh(), REFRESH_MS);
    addEventListener('online', () => this.#conversation.setVisible(true));
    await Promise.all([...starts.map((begin) => begin(this)), this.load()]);
  }

  async load(): Promise<void> {
    // Each says for itself what failed; a refused key brings the sign-in view.
    await Promise.allSettled([this.session.look(), this.agents.load()]);
    if (!this.session.isAsking) await this.threads.load();
  }

  signOut(): void {
    this.tabs.tell({ kind: 'signed out' });
    this.session.signOut();
  }

  /** Go on where the refused key left off. */
  async #comeIn(): Promise<void> {
    await this.load();
    if (!this.session.isAsking) await this.#conversation.goOn();
  }

  #refresh(): void {
    if (!this.session.isAsking) void this.threads.load();
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
    const extra = this.#extra();
    // A budget may have been set for it before its first words.
    const isUnnamed = this.thread !== undefined && !this.thread.metadata['title'];
    if (this.#conversation.isNew || isUnnamed) {
      this.route.go(`/c/${id}`, { replaces: true });
      // The run makes the thread too; its title may come a moment later.
      await this.threads.create(id, words, agent).catch(() => undefined);
      this.tabs.tell({ kind: 'threads' });
    }
    return this.#conversation.send(agent, words, extra);
  }

  #extra(): Fields {
    return Object.assign({}, ...[...this.inputs.values()].map((make) => make())) as Fields;
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
