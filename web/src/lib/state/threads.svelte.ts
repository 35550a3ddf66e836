/** The person's threads, last used first, and the words that find one. */
import type { Api } from '$lib/protocol/api';
import type { Fields, ThreadWire } from '$lib/protocol/wire';
import { text } from '$lib/text';
import { MessageSearch } from './message-search.svelte';
import type { Thread } from './thread';
import { group, projectsOf } from './thread-groups';

const PAGE = 100;
const TITLE = 80;
const MOST = 1_000;
const TYPING_MS = 200;
const PROJECT = 60;
/** When to look whether the server has written a title. */
const TITLE_MS = [1_500, 3_000, 8_000, 15_000];
/** The title is the first words: the server may write a better one. */
const BY_WORDS = 'words';

export class Threads {
  #all = $state.raw<readonly Thread[]>([]);
  #hasMore = $state(false);
  #isLoaded = $state(false);
  #problem = $state<string | null>(null);
  #query = $state('');
  #isSearching = $state(false);
  /** How many of the list, from its top, were read. */
  #depth = PAGE;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** What was said in threads, found by the same words. */
  readonly messages: MessageSearch;

  constructor(private readonly api: Api) {
    this.messages = new MessageSearch(api);
  }

  readonly found = $derived(this.#all.filter((thread) => fits(thread, this.#query)));
  readonly groups = $derived(group(this.found, new Date()));
  readonly projects = $derived(projectsOf(this.#all));
  /** How many threads wait for the person. */
  readonly waiting = $derived(this.#all.filter((thread) => thread.status === 'interrupted').length);

  get all(): readonly Thread[] {
    return this.#all;
  }

  get hasMore(): boolean {
    return this.#hasMore;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get problem(): string | null {
    return this.#problem;
  }

  get query(): string {
    return this.#query;
  }

  /** What is known is filtered at once; the server is asked for the rest a moment later. */
  set query(words: string) {
    this.#query = words;
    this.messages.look(words);
    clearTimeout(this.#timer);
    this.#isSearching = words.trim() !== '' && this.#hasMore;
    if (this.#isSearching) this.#timer = setTimeout(() => void this.#search(words), TYPING_MS);
  }

  get isSearching(): boolean {
    return this.#isSearching;
  }

  get(id: string): Thread | undefined {
    return this.#all.find((thread) => thread.id === id);
  }

  /** Read the top of the list again; older threads that are known stay. */
  load(): Promise<void> {
    return this.#try(async () => {
      const limit = Math.min(this.#depth + 1, MOST);
      const wires = await this.api.threads({ limit });
      const threads = wires.map(threadOf);
      const isWhole = wires.length < limit;
      const oldest = threads.at(-1)?.updatedAt ?? new Date(0);
      const below = isWhole ? [] : this.#all.filter((thread) => thread.updatedAt < oldest);
      this.#all = merge(threads, below);
      this.#hasMore = !isWhole;
    });
  }

  more(): Promise<void> {
    return this.#try(async () => {
      const wires = await this.api.threads({ limit: PAGE + 1, offset: this.#depth });
      this.#depth += PAGE;
      this.#all = merge(wires.map(threadOf), this.#all);
      this.#hasMore = wires.length > PAGE;
    });
  }

  /** Know a thread that is older than those that were loaded. */
  async ensure(id: string): Promise<void> {
    if (this.get(id)) return;
    const [wire] = await this.api.threads({ ids: [id] }).catch(() => []);
    if (wire && !this.get(id)) this.#put(threadOf(wire));
  }

  async #search(words: string): Promise<void> {
    await this.#try(async () => {
      const wires = await this.api.threads({ titleContains: words.trim(), limit: PAGE });
      this.#all = merge(wires.map(threadOf), this.#all);
    });
    if (words === this.#query) this.#isSearching = false;
  }

  /** What fails is a sentence in the list; what is known stays. */
  async #try(run: () => Promise<void>): Promise<void> {
    try {
      await run();
      this.#problem = null;
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : text.errors.failed;
    } finally {
      this.#isLoaded = true;
    }
  }

  async create(id: string, words: string, agent: string, more: Fields = {}): Promise<void> {
    const metadata = { title: titleOf(words), title_by: BY_WORDS, agent, ...more };
    const wire = await this.api.createThread(id, metadata);
    // A thread may be there before its first words: a budget was set for it.
    this.#put(threadOf(wire.metadata['title'] ? wire : await this.api.updateThread(id, metadata)));
  }

  async rename(id: string, title: string): Promise<void> {
    await this.change(id, { title: titleOf(title), title_by: 'person' });
  }

  async pin(id: string, isPinned: boolean): Promise<void> {
    await this.change(id, { pinned: isPinned });
  }

  /** Put a thread into a project; without a name, into none. */
  async move(id: string, project: string | null): Promise<void> {
    const name = project === null ? '' : project.replace(/\s+/g, ' ').trim().slice(0, PROJECT);
    await this.change(id, { project: name || null });
  }

  /** Merge metadata into a thread's. */
  async change(id: string, metadata: Fields): Promise<void> {
    this.#put(threadOf(await this.api.updateThread(id, metadata)));
  }

  async remove(id: string): Promise<void> {
    await this.api.deleteThread(id);
    this.#all = this.#all.filter((thread) => thread.id !== id);
  }

  /** What the open conversation shows, without asking the server. */
  note(id: string, status: ThreadWire['status']): void {
    const thread = this.get(id);
    if (!thread || thread.status === status) return;
    this.#put({ ...thread, status, updatedAt: new Date() });
    const hasAnswered = thread.status === 'busy' && (status === 'idle' || status === 'interrupted');
    if (hasAnswered && thread.metadata['title_by'] === BY_WORDS) void this.#awaitTitle(id);
  }

  /** The server writes a title beside the first answer; nothing waits for it. */
  async #awaitTitle(id: string): Promise<void> {
    for (const delay of TITLE_MS) {
      await new Promise((resolve) => setTimeout(resolve, delay));
      const thread = this.get(id);
      if (!thread || thread.metadata['title_by'] !== BY_WORDS) return;
      const [wire] = await this.api.threads({ ids: [id] }).catch(() => []);
      // Only the title: whether it is at work is known better here.
      if (wire) this.#put({ ...threadOf(wire), status: this.get(id)?.status ?? wire.status });
    }
  }

  #put(thread: Thread): void {
    this.#all = merge([thread], this.#all);
  }
}

/** Both lists as one, last used first; what is in the first is the newer word. */
function merge(news: readonly Thread[], known: readonly Thread[]): Thread[] {
  const ids = new Set(news.map((thread) => thread.id));
  const all = [...news, ...known.filter((thread) => !ids.has(thread.id))];
  return all.sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime());
}

export function titleOf(words: string): string {
  const line = words.replace(/\s+/g, ' ').trim();
  return line.length > TITLE ? `${line.slice(0, TITLE - 1)}…` : line;
}

function threadOf(wire: ThreadWire): Thread {
  const { title, agent, pinned, project } = wire.metadata;
  return {
    id: wire.thread_id,
    title: typeof title === 'string' && title ? title : text.threads.untitled,
    agent: typeof agent === 'string' ? agent : null,
    isPinned: pinned === true,
    project: typeof project === 'string' && project ? project : null,
    status: wire.status,
    updatedAt: new Date(wire.updated_at),
    metadata: wire.metadata,
  };
}

function fits(thread: Thread, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const title = thread.title.toLowerCase();
  return words.every((word) => title.includes(word));
}
