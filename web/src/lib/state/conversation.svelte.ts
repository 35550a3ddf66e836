/**
 * One open thread: its view, kept up to date by the feed, and what the person does to it.
 *
 * Opening shows the state at once and replays the thread's log behind it; when the replay has
 * caught up it takes the state's place, so a reload in the middle of a run goes on where it was.
 */
import { Refusal, type Api } from '$lib/protocol/api';
import { Feed } from '$lib/protocol/feed';
import type { Fields, InputData, Json, WireEvent } from '$lib/protocol/wire';
import { newId } from '$lib/protocol/ids';
import { questionKey } from '$lib/stream/asked';
import { reduce, viewOf } from '$lib/stream/reduce';
import { withAgent } from '$lib/stream/change';
import { emptyView, newMessage, ROOT, type Message, type Question, type View } from '$lib/stream/view';
import { text } from '$lib/text';
import { nextFrame } from './frames';

const SLICE_MS = 8;
const QUIET_MS = 400;
const HIDDEN_MS = 60_000;

export interface Problem {
  message: string;
  hint: string | null;
  retry: (() => void) | null;
}

export class Conversation {
  #view = $state.raw<View>(emptyView());
  #isLoading = $state(true);
  #isLive = $state(true);
  #problem = $state.raw<Problem | null>(null);
  #answered = $state.raw<ReadonlySet<string>>(new Set());
  #isSending = $state(false);
  /** Nothing of it is on the server yet. */
  #isNew = $state(false);
  #isStopping = $state(false);

  #feed: Feed | null = null;
  #queue: WireEvent[] = [];
  #isDraining = false;
  /** The replay behind the view, until it has caught up. */
  #shadow: View | null = null;
  #caughtUpAt = 0;
  /** The questions that were open when the state was read. */
  #open: ReadonlySet<string> = new Set();
  #quiet: ReturnType<typeof setTimeout> | undefined;
  #hidden: ReturnType<typeof setTimeout> | undefined;
  /** A checkpoint to go on from, when the person looks at another branch. */
  #from = $state<string | null>(null);

  constructor(
    readonly id: string,
    private readonly api: Api,
  ) {}

  readonly root = $derived(this.#view.agents[ROOT]!);
  readonly messages = $derived(this.root.messages);
  readonly questions = $derived(this.#view.questions.filter((question) => !this.#answered.has(questionKey(question))));
  /** At work, or about to be: the last answer was given and its run has not begun. */
  readonly isBusy = $derived(
    this.#view.status === 'running' ||
      this.#isSending ||
      (this.#view.status === 'interrupted' && !this.questions.length),
  );

  get view(): View {
    return this.#view;
  }

  get values(): Record<string, unknown> {
    return this.root.values;
  }

  get status(): View['status'] {
    return this.#view.status;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  get isNew(): boolean {
    return this.#isNew;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get problem(): Problem | null {
    return this.#problem;
  }

  get from(): string | null {
    return this.#from;
  }

  /** Read the thread and follow it. A thread that is not there yet is an empty one. */
  async open({ isNew = false } = {}): Promise<void> {
    this.#isNew = isNew;
    if (isNew) {
      this.#isLoading = false;
      return;
    }
    try {
      const mark = await this.api.mark(this.id);
      const state = await this.api.state(this.id);
      this.#view = viewOf(state);
      this.#open = new Set(this.#view.questions.map(questionKey));
      this.#follow(mark);
    } catch (error) {
      this.#fail(error, () => void this.open());
    } finally {
      this.#isLoading = false;
    }
  }

  close(): void {
    this.#feed?.close();
    this.#feed = null;
    this.#queue = [];
    clearTimeout(this.#quiet);
    clearTimeout(this.#hidden);
  }

  /** A browser holds few connections to one server: a hidden, idle tab gives its own back. */
  setVisible(isVisible: boolean): void {
    clearTimeout(this.#hidden);
    if (isVisible) {
      if (this.#feed === null && !this.#isLoading && this.#view.isWhole) this.#follow(0, this.#lastSeq);
      this.#feed?.hurry();
    } else {
      this.#hidden = setTimeout(() => this.#rest(), HIDDEN_MS);
    }
  }

  /** The server lets the person in again: forget the refusal, and read on. */
  async goOn(): Promise<void> {
    this.#problem = null;
    this.close();
    if (!this.#isNew) await this.open();
  }

  async send(agent: string, words: string, extra: Fields = {}): Promise<boolean> {
    const message = newMessage(newId(), 'human', { text: words, isPending: true });
    this.#add(message);
    const input = { messages: [{ type: 'human', id: message.id, content: words }], ...extra };
    const isSent = await this.#start(agent, input, this.#from, () => void this.send(agent, words, extra));
    if (!isSent) this.#remove(message.id);
    return isSent;
  }

  /** Say a message of the person otherwise, or the same again; what came after it is left behind. */
  async branch(agent: string, messageId: string, words: string, extra: Fields = {}): Promise<boolean> {
    try {
      const point = this.#view.before[messageId] ?? (await this.#lookUp(messageId));
      if (point === null) throw new Refusal('no_such_checkpoint', text.chat.noPoint);
      const message = newMessage(newId(), 'human', { text: words, isPending: true });
      this.#cutFrom(messageId);
      this.#add(message);
      const input = { messages: [{ type: 'human', id: message.id, content: words }], ...extra };
      return await this.#start(agent, input, point, () => void this.open());
    } catch (error) {
      this.#fail(error, null);
      return false;
    }
  }

  async stop(): Promise<void> {
    const run = this.#view.runId;
    if (run === null || this.#view.status !== 'running') return;
    this.#isStopping = true;
    try {
      await this.api.cancel(this.id, run);
    } catch (error) {
      this.#fail(error, () => void this.stop());
    } finally {
      this.#isStopping = false;
    }
  }

  /** Answer questions; the server keeps each and goes on when the last of the step has come. */
  async respond(answers: readonly { question: Question; response: Json }[]): Promise<string | null> {
    try {
      await this.api.respond(
        this.id,
        answers.map(({ question, response }) => ({ id: question.id, response })),
      );
    } catch (error) {
      const isElsewhere = error instanceof Refusal && error.code === 'no_such_interrupt'; // answered there
      if (!isElsewhere) return error instanceof Error ? error.message : text.errors.failed;
    }
    this.markAnswered(answers.map(({ question }) => questionKey(question)));
    return null;
  }

  /** Another tab of this browser has answered. */
  markAnswered(keys: readonly string[]): void {
    this.#answered = new Set([...this.#answered, ...keys]);
  }

  dismiss(): void {
    this.#problem = null;
  }

  /** Look at a state of the past, or at another branch's end; the next message goes on from there. */
  async lookAt(checkpoint: string | null): Promise<void> {
    try {
      const state = await this.api.state(this.id, checkpoint ?? undefined);
      this.#from = checkpoint;
      this.#view = { ...viewOf(state), runId: this.#view.runId, graph: this.#view.graph };
    } catch (error) {
      this.#fail(error, () => void this.lookAt(checkpoint));
    }
  }

  async #start(agent: string, input: Fields, checkpoint: string | null, retry: () => void): Promise<boolean> {
    this.#problem = null;
    this.#isSending = true;
    try {
      await this.api.startRun(this.id, { agent, input, checkpoint });
      this.#from = null;
      this.#isNew = false;
      if (this.#feed === null) this.#follow(0, this.#lastSeq);
      return true;
    } catch (error) {
      this.#fail(error, retry);
      return false;
    } finally {
      this.#isSending = false;
    }
  }

  #lastSeq = 0;

  #follow(mark: number, since = 0): void {
    this.#shadow = since === 0 && this.#view.isWhole ? emptyView() : null;
    this.#caughtUpAt = mark;
    this.#feed = new Feed(
      this.api,
      this.id,
      {
        onevent: (event) => this.#take(event),
        onlive: (isLive) => (this.#isLive = isLive),
        onrefused: (error) => this.#fail(error, () => void this.open()),
      },
      since,
    );
    if (this.#shadow) this.#expectQuiet();
  }

  #rest(): void {
    if (this.#view.status === 'running' || this.#shadow) return;
    this.#feed?.close();
    this.#feed = null;
  }

  #take(event: WireEvent): void {
    this.#lastSeq = Math.max(this.#lastSeq, event.seq);
    this.#noteAnswered(event);
    this.#queue.push(event);
    if (!this.#isDraining) {
      this.#isDraining = true;
      nextFrame(() => this.#drain());
    }
  }

  /** The log tells what was asked, not what was answered: that the state knew. */
  #noteAnswered({ method, seq, params }: WireEvent): void {
    if (method !== 'input.requested' || seq > this.#caughtUpAt) return;
    const { interrupt_id: id, payload } = params.data as InputData;
    const key = questionKey({ id, payload });
    if (!this.#open.has(key)) this.markAnswered([key]);
  }

  /** Apply what has come, for a few milliseconds of each frame: typing and scrolling come first. */
  #drain(): void {
    const end = performance.now() + SLICE_MS;
    let view = this.#shadow ?? this.#view;
    let count = 0;
    for (const event of this.#queue) {
      view = reduce(view, event);
      count += 1;
      if (this.#shadow && event.seq >= this.#caughtUpAt && this.#caughtUpAt > 0 && view.isWhole) {
        this.#shadow = null;
        view = this.#withPending(view);
      }
      if (performance.now() > end) break;
    }
    this.#queue.splice(0, count);
    if (this.#shadow) {
      this.#shadow = view;
      this.#expectQuiet();
    } else if (this.#from === null) {
      this.#view = view;
    }
    this.#isDraining = this.#queue.length > 0;
    if (this.#isDraining) nextFrame(() => this.#drain());
  }

  /** The newest event may be one that is not shown: a replay that falls silent has caught up too. */
  #expectQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      if (this.#shadow?.isWhole && this.#from === null) this.#view = this.#withPending(this.#shadow);
      this.#shadow = null;
    }, QUIET_MS);
  }

  /** What was sent during the replay is not in it yet. */
  #withPending(view: View): View {
    const known = new Set(view.agents[ROOT]!.messages.map((message) => message.id));
    const pending = this.messages.filter((message) => message.isPending && !known.has(message.id));
    if (!pending.length) return view;
    return withAgent(view, [], (agent) => ({ ...agent, messages: [...agent.messages, ...pending] }));
  }

  #add(message: Message): void {
    this.#view = withAgent(this.#view, [], (agent) => ({ ...agent, messages: [...agent.messages, message] }));
  }

  #remove(id: string): void {
    this.#view = withAgent(this.#view, [], (agent) => ({
      ...agent,
      messages: agent.messages.filter((message) => message.id !== id),
    }));
  }

  #cutFrom(id: string): void {
    this.#view = withAgent(this.#view, [], (agent) => ({
      ...agent,
      messages: agent.messages.slice(0, Math.max(0, agent.messages.findIndex((message) => message.id === id))),
    }));
  }

  /** The checkpoint before a message, from the thread's history: newest first, until it is not there. */
  async #lookUp(messageId: string): Promise<string | null> {
    let before: string | undefined;
    let found: string | null = null;
    for (let page = 0; page < 50; page += 1) {
      const states = await this.api.history(this.id, { limit: 20, ...(before ? { before } : {}) });
      for (const state of states) {
        const holds = state.values.messages?.some((message) => message.id === messageId) ?? false;
        if (!holds && found !== null) return found;
        if (holds) found = state.parent_checkpoint?.checkpoint_id ?? null;
        before = state.checkpoint?.checkpoint_id ?? undefined;
      }
      if (states.length < 20) return found;
    }
    return null;
  }

  #fail(error: unknown, retry: (() => void) | null): void {
    const message = error instanceof Error ? error.message : text.errors.failed;
    this.#problem = { message, hint: null, retry: retry && (() => (this.dismiss(), retry())) };
  }
}
