/** The source that is open beside the conversation, and the quote that is looked at in it. */
import type { Api } from '$lib/protocol/api';
import type { Quote, Source, SourceInfo } from './report';

export interface SourceText {
  id: string;
  text: string;
}

export class SourceReader {
  #thread = $state('');
  #source = $state<string | null>(null);
  #quote = $state<string | null>(null);
  #note = $state('');
  /** What was opened, for a source of an earlier report, which the state no longer lists. */
  #opened = $state<{ info: SourceInfo; quote: Quote | null } | null>(null);
  /** Counts how often something was opened, so that the same quote can be looked for again. */
  #turn = $state(0);
  #texts = new Map<string, Promise<SourceText>>();

  get turn(): number {
    return this.#turn;
  }

  sourceOf(thread: string): string | null {
    return thread === this.#thread ? this.#source : null;
  }

  quoteOf(thread: string): string | null {
    return thread === this.#thread ? this.#quote : null;
  }

  /** Why the stored text is shown and not the person's document; '' for nothing. */
  get note(): string {
    return this.#note;
  }

  /** The source of an earlier report that is open, with its quote. */
  earlierOf(thread: string): { source: Source; quotes: Quote[] } | null {
    const opened = this.sourceOf(thread) ? this.#opened : null;
    if (!opened) return null;
    return { source: { number: 0, snapshot: opened.info, flags: [] }, quotes: opened.quote ? [opened.quote] : [] };
  }

  open(thread: string, info: SourceInfo, quote: Quote | null = null, note = ''): void {
    this.#thread = thread;
    this.#source = info.id;
    this.#opened = { info, quote };
    this.#quote = quote?.id ?? null;
    this.#note = note;
    this.#turn += 1;
  }

  close(): void {
    this.#source = null;
    this.#quote = null;
  }

  /** A source never changes once it was read, so it is asked for once. */
  text(api: Api, thread: string, source: string): Promise<SourceText> {
    const key = `${thread} ${source}`;
    let found = this.#texts.get(key);
    if (!found) {
      found = api.send<SourceText>('GET', `/api/research/${thread}/sources/${source}`);
      found.catch(() => this.#texts.delete(key));
      this.#texts.set(key, found);
    }
    return found;
  }
}

let shared: SourceReader | undefined;

/** The one of this page. */
export function useSourceReader(): SourceReader {
  shared ??= new SourceReader();
  return shared;
}
