/** The record of a workspace's changes, newest first, and how one is undone. */
import type { Change, TeamApi, Undoing } from './api';

const PAGE = 50;

export class ChangeHistory {
  /** The change whose undoing is being looked at. */
  asked = $state<number | null>(null);
  #workspace: string | null = null;
  #changes = $state.raw<readonly Change[]>([]);
  #hasMore = $state(false);
  #isLoaded = $state(false);
  #problem = $state<string | null>(null);
  /** What was undone last, to be told. */
  #undone = $state.raw<Change | null>(null);

  constructor(private readonly api: TeamApi) {}

  get changes(): readonly Change[] {
    return this.#changes;
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

  get undone(): Change | null {
    return this.#undone;
  }

  async open(workspace: string): Promise<void> {
    if (workspace !== this.#workspace) {
      [this.#changes, this.#isLoaded, this.#undone, this.asked] = [[], false, null, null];
    }
    this.#workspace = workspace;
    await this.reload();
  }

  async reload(): Promise<void> {
    const limit = Math.min(Math.max(PAGE, this.#changes.length), 1000);
    await this.#read(limit, undefined, (changes) => changes);
  }

  async more(): Promise<void> {
    await this.#read(PAGE, this.#changes.at(-1)?.change_id, (changes) => [...this.#changes, ...changes]);
  }

  /** Ask about the change of a call; one that was undone already is only listed. */
  askFor(callId: string): void {
    const found = this.#changes.find(({ tool_call_id: id, undone_by: undo }) => id === callId && undo === null);
    this.asked = found?.change_id ?? null;
  }

  undoing({ change_id: id }: Change): Promise<Undoing> {
    return this.api.undoing(this.#workspace!, id);
  }

  async undo(change: Change): Promise<void> {
    this.#undone = null;
    await this.api.undo(this.#workspace!, change.change_id);
    this.#undone = change;
    await this.reload();
  }

  async #read(limit: number, before: number | undefined, put: (changes: Change[]) => readonly Change[]): Promise<void> {
    const workspace = this.#workspace;
    if (workspace === null) return;
    try {
      const changes = await this.api.changes(workspace, { limit, ...(before ? { before } : {}) });
      if (workspace !== this.#workspace) return;
      [this.#changes, this.#hasMore, this.#problem] = [put(changes), changes.length === limit, null];
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.#isLoaded = true;
    }
  }
}
