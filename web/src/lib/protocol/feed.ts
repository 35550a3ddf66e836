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
const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 10_000;

export interface FeedHandlers {
  onevent: (event: WireEvent) => void;
  /** True when events flow, false when the connection is lost and is being tried again. */
  onlive: (isLive: boolean) => void;
  /** The server refuses for good; the feed has ended. */
  onrefused: (error: Error) => void;
}

export class Feed {
  #since: number;
  #ended = new AbortController();
  #wake: (() => void) | null = null;

  constructor(
    private readonly api: Api,
    private readonly threadId: string,
    private readonly handlers: FeedHandlers,
    since = 0,
  ) {
    this.#since = since;
    void this.#run();
  }

  get since(): number {
    return this.#since;
  }

  close(): void {
    this.#ended.abort();
    this.#wake?.();
  }

  /** Try again now, not when the wait is over: the person came back, or the network did. */
  hurry(): void {
    this.#wake?.();
  }

  async #run(): Promise<void> {
    let wait = FIRST_WAIT_MS;
    while (!this.#ended.signal.aborted) {
      const outcome = await this.#connect();
      if (outcome === 'refused' || this.#ended.signal.aborted) return;
      this.handlers.onlive(false);
      wait = outcome === 'flowed' ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
      await this.#pause(wait);
    }
  }

  async #connect(): Promise<'flowed' | 'failed' | 'refused'> {
    const connection = new AbortController();
    const end = () => connection.abort();
    this.#ended.signal.addEventListener('abort', end);
    let watch = setTimeout(end, SILENCE_MS);
    let outcome: 'flowed' | 'failed' = 'failed';
    try {
      const response = await this.#open(connection.signal);
      if (!response.ok) {
        const refusal = await refusalOf(response);
        if (refusal.isPassing) return 'failed';
        this.handlers.onrefused(refusal);
        return 'refused';
      }
      const beat = () => {
        clearTimeout(watch);
        watch = setTimeout(end, SILENCE_MS);
        outcome = 'flowed';
      };
      this.handlers.onlive(true);
      for await (const event of eventsOf(response.body!, beat)) this.#give(event);
    } catch {
      // lost, silent or closed: the loop knows which
    } finally {
      clearTimeout(watch);
      this.#ended.signal.removeEventListener('abort', end);
    }
    return outcome;
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
