/** The state of the app: one object that every component reaches by `useApp()`. */
import { getContext, setContext } from 'svelte';
import { SvelteSet } from 'svelte/reactivity';
import { MODEL, type Api } from '$lib/protocol/api';
import { newId } from '$lib/protocol/ids';
import type { Arrival } from '$lib/sign-in/arrival';
import { Agents } from './agents.svelte';
import { Branches, type ExtraInput } from './branches.svelte';
import type { ClientTool } from './client-tools';
import { Conversation } from './conversation.svelte';
import { RequestQueue } from './request-queue.svelte';
import { Drafts, NEW } from './drafts.svelte';
import { Layout } from './layout.svelte';
import { ModelChoice } from './model-choice.svelte';
import { Route } from './route.svelte';
import { gatherInput, type RunInput } from './run-input';
import { Session } from './session.svelte';
import { ShownTurns } from './shown-turns.svelte';
import { Tabs } from './tabs';
import { Threads } from './threads.svelte';

const KEY = Symbol('app');
const REFRESH_MS = 20_000;
/** Signing out does not wait longer for a server that does not respond. */
const LEAVE_MS = 2_000;

/** What the state needs of the extensions. */
export interface AppExtensions {
  readonly clientTools: ReadonlyMap<string, ClientTool>;
  /** Called once when the app starts. */
  readonly starts: readonly ((app: AppState) => void | Promise<void>)[];
  /** Called before the person signs out. */
  readonly leaves: readonly ((app: AppState) => Promise<void>)[];
}

export class AppState {
  readonly layout = new Layout();
  readonly route = new Route();
  readonly tabs = new Tabs();
  readonly session: Session;
  readonly threads: Threads;
  readonly agents: Agents;
  readonly requests: RequestQueue;
  readonly modelChoice = new ModelChoice(this);
  #conversation = $state.raw<Conversation>()!;
  readonly drafts = new Drafts();
  readonly shownTurns = new ShownTurns();
  /** The message to bring into sight as soon as it is there; an address may name one. */
  target = $state<string | null>(decodeURIComponent(location.hash.slice(1)) || null);
  /** Conversations in which something happened while the page was hidden. */
  readonly unseen = new SvelteSet<string>();
  /** New conversations that have an address by now. */
  readonly #settled = new SvelteSet<string>();
  /** Extra input of runs, by the feature that adds it. */
  readonly inputs = new Map<string, RunInput>();

  constructor(
    readonly api: Api,
    private readonly extensions: AppExtensions,
    arrival: Arrival | null = null,
  ) {
    this.session = new Session(api, arrival);
    this.threads = new Threads(api);
    this.agents = new Agents(api);
    this.requests = new RequestQueue(this, extensions.clientTools);
    this.#conversation = this.#make(newId());
  }

  readonly #extra: ExtraInput = async (conversation, agent, words, retry) => {
    try {
      const { id: threadId, isNew } = conversation;
      return await gatherInput(this.inputs.values(), { agent, threadId, words, isNew });
    } catch (error) {
      conversation.fail(error, retry);
      return null;
    }
  };

  readonly thread = $derived.by(() => this.threads.get(this.#conversation.id));
  readonly branches = $derived.by(() => new Branches(this.#conversation, this.threads, this.#extra));
  /** The agent that answers here: the thread's own, or the one chosen for new threads. */
  readonly agent = $derived.by(
    () => this.thread?.agent ?? this.#conversation.view.graph ?? this.agents.chosen.name,
  );

  /** At work for the person, here or on the server. */
  readonly isBusy = $derived.by(
    () => this.#conversation.isBusy || (this.requests.automatic.length > 0 && this.requests.stuck?.isRetrying !== false),
  );

  /** What the page's title counts: what is new, or else what waits for an answer here. */
  readonly badge = $derived.by(() => this.unseen.size || this.requests.open.length);

  /** The panel stands beside conversations, never beside a page of its own. */
  readonly isPanelOpen = $derived.by(() => this.layout.aside && this.route.page === null && !this.route.isUnknown);

  get conversation(): Conversation {
    return this.#conversation;
  }

  /** What the composer holds; features may put words there. */
  get draft(): string {
    return this.drafts.of(this.#draftKey);
  }

  set draft(words: string) {
    this.drafts.keep(this.#draftKey, words);
  }

  get #draftKey(): string {
    return this.#keyOf(this.#conversation);
  }

  #keyOf({ id, isNew }: Conversation): string {
    return isNew && !this.#settled.has(id) ? NEW : id;
  }

  async start(): Promise<void> {
    this.session.onsignin = () => this.#comeIn();
    this.session.onrefused = () => this.#conversation.close();
    this.api.onreached = () => void this.#conversation.reconnect();
    this.tabs.listen((notice) => {
      if (notice.kind === 'threads') void this.threads.load();
      else if (notice.kind === 'signed out') this.session.leave();
      else if (notice.threadId === this.#conversation.id) this.#conversation.markAnswered(notice.keys);
    });
    document.addEventListener('visibilitychange', () => {
      this.#conversation.setVisible(!document.hidden);
      if (!document.hidden) this.#refresh();
    });
    setInterval(() => document.hidden || this.#refresh(), REFRESH_MS);
    addEventListener('online', () => this.#conversation.setVisible(true));
    await Promise.all([...this.extensions.starts.map((start) => start(this)), this.load()]);
  }

  async load(): Promise<void> {
    // Each says for itself what failed; a refused key brings the sign-in view.
    await Promise.allSettled([this.session.look(), this.agents.load()]);
    if (!this.session.isAsking) await this.threads.load();
  }

  async signOut(): Promise<void> {
    const left = Promise.allSettled(this.extensions.leaves.map((leave) => leave(this)));
    await Promise.race([left, new Promise((resolve) => setTimeout(resolve, LEAVE_MS))]);
    this.tabs.tell({ kind: 'signed out' });
    await this.session.signOut();
  }

  /** Go on where the refused key left off. */
  async #comeIn(): Promise<void> {
    await this.load();
    if (!this.session.isAsking) await this.#conversation.resume();
  }

  #refresh(): void {
    if (!this.session.isAsking) void this.threads.load();
  }

  /** Show a thread, or a new conversation. */
  show(id: string | null): void {
    if (id !== null && id === this.#conversation.id) return;
    this.#conversation.close();
    this.#conversation = this.#make(id ?? newId());
    if (id !== null) void this.threads.ensure(id);
    void this.#conversation.open({ isNew: id === null });
  }

  #make(id: string): Conversation {
    const conversation = new Conversation(id, this.api);
    conversation.model = () => this.modelChoice.of(id);
    conversation.onpaused = () => {
      if (conversation === this.#conversation) void this.requests.work();
    };
    return conversation;
  }

  /** Open a thread, at a message if there is one to look at. */
  open(id: string, message: string | null = null): void {
    this.route.go(`/c/${id}`);
    this.show(id);
    this.layout.showChat();
    this.target = message;
  }

  begin(words?: string): void {
    this.route.go('/');
    this.show(null);
    if (words !== undefined) this.draft = words;
    this.layout.showChat();
  }

  /**
   * Send a message; open requests are set aside by it. Refused words are a draft again.
   * An id from the address is sent to only when the server has shown its thread to this person: a
   * message to any other begins a new conversation.
   */
  async send(words: string): Promise<boolean> {
    if (!(await this.#isReady())) return false;
    const conversation = this.#conversation;
    if (this.draft.trim() === words) this.draft = '';
    const isSent = await this.#message(words);
    if (!isSent) this.#giveBack(conversation, words);
    return isSent;
  }

  /** Stop what runs or waits; words that were not begun with are a draft again. */
  async stop(run?: string): Promise<void> {
    const conversation = this.#conversation;
    const words = run === undefined ? await conversation.stop() : await conversation.cancel(run);
    if (words !== null) this.#giveBack(conversation, words);
  }

  /** Words that were not taken, before what was written since. */
  #giveBack(conversation: Conversation, words: string): void {
    const key = this.#keyOf(conversation);
    const draft = this.drafts.of(key);
    this.drafts.keep(key, draft ? `${words}\n\n${draft}` : words);
  }

  async #isReady(): Promise<boolean> {
    const conversation = this.#conversation;
    if (!conversation.isNew && !conversation.isKnown && !conversation.isMissing) await conversation.open();
    if (conversation !== this.#conversation) return false;
    if (conversation.isMissing) {
      this.draft = '';
      this.begin();
    }
    return this.#conversation.isNew || this.#conversation.isKnown;
  }

  async #message(words: string): Promise<boolean> {
    const conversation = this.#conversation;
    const agent = this.agent;
    const retry = () => void this.send(this.draft.trim() || words);
    // A budget may have been set for it before its first words.
    const isUnnamed = this.thread !== undefined && !this.thread.metadata['title'];
    const isFirst = conversation.isNew || isUnnamed;
    const extra = await this.#extra(conversation, agent, words, retry);
    if (extra === null) return false;
    if (isFirst) {
      const model = this.modelChoice.of(conversation.id);
      // The run makes the thread too; its title may come a moment later.
      await this.threads.create(conversation.id, words, agent, model === null ? {} : { [MODEL]: model }).then(
        () => {
          this.modelChoice.settle(conversation.id, model);
          this.#settleIn(conversation);
        },
        () => undefined,
      );
    }
    const isSent = await conversation.send(agent, words, extra, retry);
    if (isSent && isFirst) this.#settleIn(conversation);
    return isSent;
  }

  /** A new conversation is on the server: it has an address, and its draft goes along. */
  #settleIn(conversation: Conversation): void {
    this.tabs.tell({ kind: 'threads' });
    if (!this.#settled.has(conversation.id) && this.drafts.of(NEW)) {
      this.drafts.keep(conversation.id, this.drafts.of(NEW));
      this.drafts.keep(NEW, '');
    }
    this.#settled.add(conversation.id);
    if (conversation === this.#conversation) this.route.go(`/c/${conversation.id}`, { replaces: true });
  }

  async remove(id: string): Promise<void> {
    await this.threads.remove(id);
    this.tabs.tell({ kind: 'threads' });
    if (id === this.#conversation.id) this.begin();
  }
}

export function provideApp(app: AppState): AppState {
  return setContext(KEY, app);
}

export function useApp(): AppState {
  return getContext<AppState>(KEY);
}
