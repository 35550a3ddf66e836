/**
 * From a thread's events to its view, without a browser: order, repeats, catching up, what throws.
 *
 * Opening a thread shows its state at once and replays its log behind it; when the replay has
 * caught up it takes the state's place. Every event counts once, whichever connection brought it.
 */
import type { InputData, LifecycleData, WireEvent } from '$lib/protocol/wire';
import { questionKey } from '$lib/stream/questions';
import { withMessages } from '$lib/stream/view-updates';
import { reduce } from '$lib/stream/reducer';
import { emptyView, ROOT, type Message, type View } from '$lib/stream/view';

export interface ReplayStart {
  view: View;
  /** The newest event when the state was read; 0 where the log is followed from `since`. */
  position?: number;
  since?: number;
}

export class Replay {
  #view: View;
  /** The log's own view, until it has caught up with the state. */
  #shadow: View | null = null;
  #queue: WireEvent[] = [];
  #position: number;
  #last: number;
  #failures = 0;
  /** The runs that the log tells of, and whether each was seen to begin. */
  #runs = new Map<string, boolean>();
  #answered = new Set<string>();
  /** The questions that were open when the state was read. */
  readonly #open: ReadonlySet<string>;

  constructor({ view, position = 0, since = 0 }: ReplayStart) {
    this.#view = view;
    this.#position = position;
    this.#last = since;
    this.#open = new Set(view.questions.map(questionKey));
    if (since === 0 && view.isWhole) this.#shadow = emptyView();
  }

  get view(): View {
    return this.#view;
  }

  /** The number of the newest event that was taken. */
  get last(): number {
    return this.#last;
  }

  get isCatchingUp(): boolean {
    return this.#shadow !== null;
  }

  get hasQueued(): boolean {
    return this.#queue.length > 0;
  }

  /** How many events could not be applied. */
  get failures(): number {
    return this.#failures;
  }

  /** Questions that the log tells of and that were answered before the state was read. */
  get answered(): ReadonlySet<string> {
    return this.#answered;
  }

  /** Whether the log has told of a run: it has begun, or has ended. */
  hasSeen(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** Whether a run was cancelled before its turn came. */
  hasEndedUnstarted(runId: string): boolean {
    return this.#runs.get(runId) === false;
  }

  /** Queue an event; false for one that was here before. A snapshot (its id has an @) is always news. */
  take(event: WireEvent): boolean {
    if (event.seq <= this.#last && !event.event_id.includes('@')) return false;
    this.#last = Math.max(this.#last, event.seq);
    this.#queue.push(event);
    return true;
  }

  /** Apply what is queued while `mayGoOn`; an event that cannot be applied is counted and skipped. */
  drain(mayContinue: () => boolean = () => true): void {
    let count = 0;
    for (const event of this.#queue) {
      this.#apply(event);
      count += 1;
      if (!mayContinue()) break;
    }
    this.#queue.splice(0, count);
  }

  /** The newest event may be one that is not shown: a replay that falls silent has caught up too. */
  settle(): void {
    if (this.#shadow?.isWhole) this.#view = this.#withPending(this.#shadow);
    this.#shadow = null;
  }

  /** Change what is shown, by hand: a message that was just sent. */
  change(edit: (view: View) => View): void {
    this.#view = edit(this.#view);
  }

  /** Change the main agent's messages. */
  edit(change: (messages: readonly Message[]) => readonly Message[]): void {
    this.change((view) => withMessages(view, change));
  }

  #apply(event: WireEvent): void {
    try {
      this.#note(event);
      const next = reduce(this.#shadow ?? this.#view, event);
      if (this.#shadow === null) {
        this.#view = next;
      } else if (this.#position > 0 && event.seq >= this.#position && next.isWhole) {
        this.#shadow = null;
        this.#view = this.#withPending(next);
      } else {
        this.#shadow = next;
      }
    } catch (error) {
      this.#failures += 1;
      console.warn('An event could not be shown', event.event_id, error);
    }
  }

  /** The log tells what was asked, not what was answered: that the state knew. */
  #note({ method, seq, params }: WireEvent): void {
    if (method === 'lifecycle') {
      const { run_id: runId, event } = params.data as LifecycleData;
      const hasBegun = event === 'started' || event === 'running';
      if (runId !== undefined && !params.namespace.length) {
        this.#runs.set(runId, hasBegun || this.#runs.get(runId) === true);
      }
    } else if (method === 'input.requested' && seq <= this.#position) {
      const { interrupt_id: id, payload } = params.data as InputData;
      const key = questionKey({ id, payload });
      if (!this.#open.has(key)) this.#answered.add(key);
    }
  }

  /** What was sent during the replay is not in it yet. */
  #withPending(view: View): View {
    const known = new Set(view.agents[ROOT]!.messages.map((message) => message.id));
    const pending = this.#view.agents[ROOT]!.messages.filter((message) => message.isPending && !known.has(message.id));
    if (!pending.length) return view;
    return withMessages(view, (messages) => [...messages, ...pending]);
  }
}
