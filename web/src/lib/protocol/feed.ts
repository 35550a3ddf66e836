/**
 * A thread's events without end: reconnects by itself and goes on after the last event it gave.
 *
 * The server sends a comment at least every ten seconds; a stream that is silent for longer is a
 * dead connection and is opened again.
 */
import { refusalOf, type Api } from './api';
import { eventsOf } from './sse';
import type { WireEvent } from './wire';

const CHANNELS = ['values', 'messages', 'tools', 'lifecycle', 'input', 'checkpoints', 'custom'];
const SILENCE_MS = 25_000;
/** After a connection that carried something; one that was refused is tried at most once a second. */
const LOST_WAIT_MS = 300;
const REFUSED_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;
const STEADY_MS = 5_000;

export interface FeedHandlers {
  onevent: (event: WireEvent) => void;
  /** True when events flow, false when the connection is lost and is being tried again. */
  onlive: (isLive: boolean) => void;
  /** The server refuses permanently; the feed has ended. */
  onrefused: (error: Error) => void;
  /** So many events could not be read, and were skipped. */
  onunreadable: (count: number) => void;
}

export class Feed {
  #since: number;
  #ended = new AbortController();
  #wake: (() => void) | null = null;
  #unreadable = 0;

  constructor(
    private readonly api: Api,
    private readonly threadId: string,
    private readonly handlers: FeedHandlers,
    since = 0,
  ) {
    this.#since = since;
    void this.#run(); // never rejects: whatever a connection meets is an outcome
  }

  get since(): number {
    return this.#since;
  }

  close(): void {
    this.#ended.abort();
    this.#wake?.();
  }

  /** Try again now, not when the wait is over: the person came back, or the network did. */
  reconnectNow(): void {
    this.#wake?.();
  }

  async #run(): Promise<void> {
    let wait = REFUSED_WAIT_MS / 2;
    while (!this.#ended.signal.aborted) {
      const outcome = await this.#connect();
      if (outcome === 'refused' || this.#ended.signal.aborted) return;
      this.handlers.onlive(false);
      const hasFlowed = outcome === 'flowed';
      wait = hasFlowed ? REFUSED_WAIT_MS / 2 : Math.min(wait * 2, LONGEST_WAIT_MS);
      await this.#pause(hasFlowed ? LOST_WAIT_MS : wait);
    }
  }

  async #connect(): Promise<'flowed' | 'failed' | 'refused'> {
    const connection = new AbortController();
    const end = () => connection.abort();
    this.#ended.signal.addEventListener('abort', end);
    let watch = setTimeout(end, SILENCE_MS);
    const since = this.#since;
    const began = performance.now();
    try {
      const response = await this.#open(connection.signal);
      if (!response.ok) {
        const refusal = await refusalOf(response);
        if (refusal.isTransient) return 'failed';
        this.handlers.onrefused(refusal);
        return 'refused';
      }
      const beat = () => {
        clearTimeout(watch);
        watch = setTimeout(end, SILENCE_MS);
      };
      this.handlers.onlive(true);
      for await (const event of eventsOf(response.body!, beat)) {
        if (event) this.#give(event);
        else this.handlers.onunreadable((this.#unreadable += 1));
      }
    } catch {
      // lost, silent or closed: the loop knows which
    } finally {
      clearTimeout(watch);
      this.#ended.signal.removeEventListener('abort', end);
    }
    const isSteady = performance.now() - began > STEADY_MS;
    return this.#since > since || isSteady ? 'flowed' : 'failed';
  }

  #open(signal: AbortSignal): Promise<Response> {
    const since = this.#since ? { since: this.#since } : {};
    return this.api.fetch(`/threads/${this.threadId}/stream/events`, {
      method: 'POST',
      body: JSON.stringify({ channels: CHANNELS, ...since }),
      signal,
    });
  }

  #give(event: WireEvent): void {
    if (this.#ended.signal.aborted) return;
    // A snapshot (its id has an @) stands in for lost events and is news whatever its number.
    if (event.seq <= this.#since && !event.event_id.includes('@')) return;
    this.#since = Math.max(this.#since, event.seq);
    this.handlers.onevent(event);
  }

  #pause(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    }).then(() => {
      this.#wake = null;
    });
  }
}
