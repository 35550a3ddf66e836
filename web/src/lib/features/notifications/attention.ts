/** What happened in conversations while nobody looked at the page. */
import type { Thread } from '$lib/state/thread';

export type News = 'waiting' | 'done' | 'failed';

type Status = Thread['status'];
type Seen = Pick<Thread, 'id' | 'status'>;

const NEWS: Partial<Record<Status, News>> = { interrupted: 'waiting', idle: 'done', error: 'failed' };

/** A run may pause for a moment, until the page itself answers it. */
const SETTLE_MS = 2_000;

export interface AttentionOptions {
  isHidden: () => boolean;
  /** Called for each conversation that has news, once. */
  ontell: (id: string, news: News) => void;
}

export class Attention {
  #statuses = new Map<string, Status>();
  #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(private readonly options: AttentionOptions) {}

  /** Whether an agent is at work in any conversation. */
  get isExpecting(): boolean {
    return [...this.#statuses.values()].includes('busy') || this.#timers.size > 0;
  }

  /** Look at all conversations; those whose run has ended or paused since have news. */
  see(threads: readonly Seen[]): void {
    for (const { id, status } of threads) {
      const before = this.#statuses.get(id);
      this.#statuses.set(id, status);
      if (status === 'busy') this.#forget(id);
      else if (before === 'busy' && this.options.isHidden()) this.#settle(id);
    }
  }

  /** The person is back: what has not been told yet is seen anyway. */
  clear(): void {
    for (const id of [...this.#timers.keys()]) this.#forget(id);
  }

  #settle(id: string): void {
    this.#timers.set(id, setTimeout(() => this.#tell(id), SETTLE_MS));
  }

  #tell(id: string): void {
    this.#forget(id);
    const news = NEWS[this.#statuses.get(id) ?? 'busy'];
    if (news) this.options.ontell(id, news);
  }

  #forget(id: string): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }
}
