/**
 * One open thread: its view, kept up to date by the feed, and what the person does to it.
 *
 * Each opening has an `AbortController`: what an earlier one still waits for is cancelled, and at
 * most one feed is open. How events become the view is in `replay.ts`.
 */
import { Refusal, type Api } from '$lib/protocol/api';
import { Feed } from '$lib/protocol/feed';
import type { Fields, Json } from '$lib/protocol/wire';
import { questionKey } from '$lib/stream/questions';
import { viewOf } from '$lib/stream/reducer';
import { withMessages } from '$lib/stream/view-updates';
import { emptyView, ROOT, type Message, type Question, type View } from '$lib/stream/view';
import { text } from '$lib/text';
import { checkpointBefore, readOpenQuestions } from './history';
import { messagesBefore, newOutgoing } from './outgoing-message';
import { problemOf, refusalOfAnswer, type Problem } from './problem';
import { messagesOf, queuedOf, stillQueued, withRuns, type Queued } from './queue';
import { Replay } from './replay';
import { ReplayScheduler } from './replay-scheduler';

const HIDDEN_MS = 60_000;

export interface Edit {
  messageId: string;
  words: string;
}

export class Conversation {
  #view = $state.raw<View>(emptyView());
  #isLoading = $state(true);
  #isLive = $state(true);
  #problem = $state.raw<Problem | null>(null);
  #answered = $state.raw<ReadonlySet<string>>(new Set());
  #sending = $state(0);
  /** Nothing of it is on the server yet. */
  #isNew = $state(false);
  /** The server has shown it to this person: only then may a message go to its id. */
  #isKnown = $state(false);
  #isMissing = $state(false);
  #isStopping = $state(false);
  /** Runs that wait for their turn, oldest first. */
  #queued = $state.raw<readonly Queued[]>([]);
  /** A message that is being edited; kept when the server refuses it. */
  edit = $state<Edit | null>(null);
  /** Called when the run has paused to ask, once for each set of questions. */
  onpaused: () => void = () => undefined;
  /** The model that the person has chosen here. */
  model: () => string | null = () => null;

  #replay = new Replay({ view: emptyView() });
  readonly #scheduler = new ReplayScheduler({
    replay: () => this.#replay,
    isClosed: () => this.#isClosed,
    onchange: () => this.#show(),
  });
  #feed: Feed | null = null;
  #opening = new AbortController();
  #isClosed = false;
  #asked = '';
  #failures = 0;
  #looks = 0;
  #hidden: ReturnType<typeof setTimeout> | undefined;
  /** A checkpoint to go on from and what it shows, when the person looks at another branch. */
  #from = $state<string | null>(null);
  #past = $state.raw<View | null>(null);

  constructor(
    readonly id: string,
    private readonly api: Api,
  ) {}

  readonly root = $derived(this.#view.agents[ROOT]!);
  readonly messages = $derived(this.root.messages);
  readonly questions = $derived(this.#view.questions.filter((question) => !this.#answered.has(questionKey(question))));
  /** At work, or about to be: a message is on its way, waits its turn, or the last answer was given. */
  readonly isBusy = $derived(
    this.#view.status === 'running' ||
      this.#sending > 0 ||
      this.#queued.length > 0 ||
      (this.#view.status === 'interrupted' && !this.questions.length),
  );
  readonly canStop = $derived(this.#view.status === 'running' || this.#queued.length > 0);

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

  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** No such thread, or not this person's. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Aborted when this opening is over: the conversation was closed, or is read again. */
  get signal(): AbortSignal {
    return this.#opening.signal;
  }

  get problem(): Problem | null {
    return this.#problem;
  }

  get from(): string | null {
    return this.#from;
  }

  /** The run of a message that waits for its turn. */
  queuedRun(messageId: string): string | null {
    return this.#queued.find((queued) => queued.messageId === messageId)?.runId ?? null;
  }

  /** Read the thread and follow it. A thread that is not there yet is an empty one. */
  async open({ isNew = false } = {}): Promise<void> {
    this.close();
    const { signal } = (this.#opening = new AbortController());
    this.#isClosed = false;
    this.#isNew = isNew;
    this.#isMissing = false;
    if (isNew) {
      this.#isLoading = false;
      return;
    }
    try {
      const [{ state, position }, runs] = await Promise.all([
        this.api.currentState(this.id, { signal }),
        this.api.runs(this.id, { signal }),
      ]);
      if (signal.aborted) return;
      this.#isKnown = true;
      this.#replay = new Replay({ view: withRuns(viewOf(state), runs), position });
      this.#queued = queuedOf(runs);
      this.#replay.edit((messages) => [...messages, ...messagesOf(runs, messages)]);
      this.#follow();
      this.#show();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refusal && error.isMissing) this.#isMissing = true;
      else this.fail(error, () => void this.open());
    } finally {
      if (!signal.aborted) this.#isLoading = false;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#opening.abort();
    this.#feed?.close();
    this.#feed = null;
    this.#asked = '';
    this.#scheduler.cancel();
    clearTimeout(this.#hidden);
  }

  /** A browser holds few connections to one server: a hidden, idle tab gives its own back. */
  setVisible(isVisible: boolean): void {
    clearTimeout(this.#hidden);
    if (this.#isClosed) return;
    if (!isVisible) {
      this.#hidden = setTimeout(() => this.#rest(), HIDDEN_MS);
    } else if (this.#isKnown) {
      if (this.#feed === null) this.#follow();
      this.#feed?.reconnectNow();
    }
  }

  /** The server lets the person in again: forget the refusal, and read on. */
  async resume(): Promise<void> {
    this.#problem = null;
    await this.open({ isNew: this.#isNew });
  }

  /** The server answers again. */
  async reconnect(): Promise<void> {
    if (this.#problem?.isOffline) this.#problem = null;
    if (this.#isClosed || this.#isNew) return;
    if (this.#isKnown) this.setVisible(true);
    else if (!this.#isLoading) await this.open();
  }

  async send(agent: string, words: string, extra: Fields = {}, retry?: () => void): Promise<boolean> {
    const { message, input } = newOutgoing(words, extra);
    const again = retry ?? (() => void this.send(agent, words, extra));
    const run = { agent, input, checkpoint: this.#from };
    if (this.#past) return this.#startFrom(withMessages(this.#past, (all) => [...all, message]), message, run, again);
    this.#replay.edit((messages) => [...messages, message]);
    return this.#start(run, message, again, () => this.#remove(message.id));
  }

  /** Say a message of the person otherwise, or the same again; what came after it is left behind. */
  async branch(agent: string, messageId: string, words: string, extra: Fields = {}, retry?: () => void): Promise<boolean> {
    const again = retry ?? (() => void this.branch(agent, messageId, words, extra));
    try {
      const point = this.#view.before[messageId] ?? (await checkpointBefore(this.api, this.id, messageId));
      if (point === null) throw new Refusal('no_such_checkpoint', text.chat.noPoint, 404);
      const { message, input } = newOutgoing(words, extra);
      const shown = withMessages(this.#view, (all) => [...messagesBefore(all, messageId), message]);
      return await this.#startFrom(shown, message, { agent, input, checkpoint: point }, again);
    } catch (error) {
      this.fail(error, error instanceof Refusal && error.isMissing ? null : again);
      return false;
    }
  }

  /** Stop the run, or the next one that waits; the words of a message that never began. */
  async stop(): Promise<string | null> {
    const running = this.#view.status === 'running' ? this.#view.runId : null;
    const run = running ?? this.#queued[0]?.runId ?? null;
    return run === null ? null : this.cancel(run);
  }

  /** Cancel a run; the words of its message where it had not begun. */
  async cancel(run: string): Promise<string | null> {
    this.#isStopping = true;
    try {
      await this.api.cancel(this.id, run);
      const queued = this.#queued.find(({ runId }) => runId === run);
      const message = this.messages.find(({ id, isPending }) => isPending && id === queued?.messageId);
      this.#queued = this.#queued.filter(({ runId }) => runId !== run);
      if (message) this.#remove(message.id);
      return message?.text ?? null;
    } catch (error) {
      this.fail(error, () => void this.cancel(run));
      return null;
    } finally {
      this.#isStopping = false;
    }
  }

  /** Answer questions; the server keeps each and goes on when the last of the step has come. */
  async respond(answers: readonly { question: Question; response: Json }[]): Promise<Refusal | null> {
    try {
      const wires = answers.map(({ question, response }) => ({ id: question.id, response }));
      const { run_id: run } = await this.api.respond(this.id, wires);
      if (typeof run === 'string') this.#enqueue({ runId: run, messageId: null });
    } catch (error) {
      const refusal = refusalOfAnswer(error);
      if (refusal) return refusal;
    }
    this.markAnswered(answers.map(({ question }) => questionKey(question)));
    return null;
  }

  /** Another tab of this browser has answered. */
  markAnswered(keys: readonly string[]): void {
    this.#answered = new Set([...this.#answered, ...keys]);
  }

  /** Which of these questions the server still waits for; all of them, where it does not say. */
  async stillOpen(questions: readonly Question[]): Promise<Question[]> {
    const open = await readOpenQuestions(this.api, this.id).catch(() => null);
    return questions.filter((question) => this.#isOpen(question) && (open?.has(questionKey(question)) ?? true));
  }

  dismiss(): void {
    this.#problem = null;
  }

  /** Look at a state of the past, or at another branch's end; the next message goes on from there. */
  async lookAt(checkpoint: string | null): Promise<void> {
    const look = (this.#looks += 1);
    try {
      const state = checkpoint === null ? null : await this.api.state(this.id, checkpoint);
      if (look !== this.#looks) return; // the person looks elsewhere by now
      const { runId, graph } = this.#view;
      this.#from = checkpoint;
      this.#past = state && { ...viewOf(state), status: 'idle', runId, graph };
      this.#show();
    } catch (error) {
      if (look === this.#looks) this.fail(error, () => void this.lookAt(checkpoint));
    }
  }

  /** Show a branch at once; what was shown before comes back if the server refuses it. */
  #startFrom(shown: View, message: Message, run: Parameters<Api['startRun']>[1], retry: () => void): Promise<boolean> {
    const former = { view: this.#replay.view, past: this.#past, from: this.#from, last: this.#replay.last };
    this.#replay.change(() => shown);
    this.#past = null;
    this.#from = null;
    return this.#start(run, message, retry, () => {
      this.#past = former.past;
      this.#from = former.from;
      if (this.#replay.last === former.last) this.#replay.change(() => former.view);
      else void this.open(); // somebody else was at work here meanwhile
    });
  }

  async #start(run: Parameters<Api['startRun']>[1], message: Message, retry: () => void, undo: () => void): Promise<boolean> {
    this.#problem = null;
    this.#sending += 1;
    this.#show();
    try {
      const runId = await this.api.startRun(this.id, { ...run, model: this.model() });
      this.#isNew = false;
      this.#isKnown = true;
      this.#enqueue({ runId, messageId: message.id });
      if (this.#feed === null && !this.#isClosed) this.#follow();
      return true;
    } catch (error) {
      undo();
      this.fail(error, retry);
      return false;
    } finally {
      this.#sending -= 1;
      this.#show();
    }
  }

  #enqueue(queued: Queued): void {
    if (!this.#replay.hasSeen(queued.runId)) this.#queued = [...this.#queued, queued];
  }

  #follow(): void {
    this.#feed?.close();
    this.#feed = new Feed(
      this.api,
      this.id,
      {
        onevent: (event) => this.#scheduler.take(event),
        onlive: (isLive) => {
          this.#isLive = isLive;
          if (isLive && this.#problem?.isOffline) this.#problem = null;
        },
        onrefused: (error) => this.fail(error, () => void this.open()),
        onunreadable: (count) => this.#tellUnshown(count),
      },
      this.#replay.last,
    );
    if (this.#replay.isCatchingUp) this.#scheduler.expectQuiet();
  }

  #rest(): void {
    if (this.#view.status === 'running' || this.#queued.length || this.#replay.isCatchingUp) return;
    this.#feed?.close();
    this.#feed = null;
  }

  /** Show what the replay has, and tell who waits for it. */
  #show(): void {
    const { answered, failures } = this.#replay;
    this.#view = this.#past ?? this.#replay.view;
    if ([...answered].some((key) => !this.#answered.has(key))) this.markAnswered([...answered]);
    if (failures > this.#failures) this.#tellUnshown(failures);
    this.#failures = failures;
    const { waiting, dropped } = stillQueued(this.#queued, this.#replay);
    if (waiting.length < this.#queued.length) this.#queued = waiting;
    for (const messageId of dropped) this.#remove(messageId);
    const asked = this.#view.status === 'interrupted' && !this.#past ? this.questions.map(questionKey).join('|') : '';
    if (asked === this.#asked || this.#isClosed) return;
    this.#asked = asked;
    if (asked) this.onpaused();
  }

  #isOpen(question: Question): boolean {
    return !this.#isClosed && this.questions.some((other) => questionKey(other) === questionKey(question));
  }

  #remove(id: string): void {
    this.#replay.edit((messages) => messages.filter((message) => message.id !== id));
    this.#view = this.#past ?? this.#replay.view;
  }

  #tellUnshown(count: number): void {
    this.#problem = { message: text.errors.unshown(count), isOffline: false, retry: () => void this.resume() };
  }

  /** Tell what went wrong. */
  fail(error: unknown, retry: (() => void) | null): void {
    this.#problem = problemOf(error, retry && (() => (this.dismiss(), retry())));
  }
}
