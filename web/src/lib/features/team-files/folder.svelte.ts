/** One folder of a workspace, a page at a time. */
import type { Entry, TeamApi } from './api';

const PAGE = 200;

export class Folder {
  #workspace: string | null = null;
  #path = $state('/');
  #entries = $state.raw<readonly Entry[]>([]);
  #next = $state<string | null>(null);
  #isLoaded = $state(false);
  #problem = $state<string | null>(null);
  #turn = 0;

  constructor(private readonly api: TeamApi) {}

  get path(): string {
    return this.#path;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  get hasMore(): boolean {
    return this.#next !== null;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** Its parts from the top, each with its path. */
  readonly trail = $derived(
    this.#path
      .split('/')
      .filter(Boolean)
      .map((name, index, parts) => ({ name, path: `/${parts.slice(0, index + 1).join('/')}` })),
  );

  async open(workspace: string, path: string): Promise<void> {
    if (workspace !== this.#workspace || path !== this.#path) {
      [this.#entries, this.#next, this.#isLoaded] = [[], null, false];
    }
    [this.#workspace, this.#path] = [workspace, path];
    await this.reload();
  }

  /** Read what is shown again, as much of it as there was. */
  async reload(): Promise<void> {
    const wanted = Math.max(PAGE, this.#entries.length);
    await this.#read('', Math.min(wanted, 5000), (entries) => entries);
  }

  async more(): Promise<void> {
    await this.#read(this.#next ?? '', PAGE, (entries) => [...this.#entries, ...entries]);
  }

  async #read(after: string, limit: number, put: (entries: Entry[]) => readonly Entry[]): Promise<void> {
    if (this.#workspace === null) return;
    const turn = ++this.#turn;
    try {
      const page = await this.api.folder(this.#workspace, this.#path, { limit, after });
      if (turn !== this.#turn) return; // another was asked for meanwhile
      [this.#entries, this.#next, this.#problem] = [put(page.entries), page.next, null];
    } catch (error) {
      if (turn === this.#turn) this.#problem = error instanceof Error ? error.message : String(error);
    } finally {
      if (turn === this.#turn) this.#isLoaded = true;
    }
  }
}
