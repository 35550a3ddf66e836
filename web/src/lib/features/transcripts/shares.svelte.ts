/** The links under which a conversation can be read. */
import type { Api } from '$lib/protocol/api';
import { text } from './text';

export interface ShareWire {
  share_id: string;
  path: string;
  title: string;
  message_count: number;
  created_at: string;
  expires_at: string;
}

export class Shares {
  #all = $state.raw<readonly ShareWire[]>([]);
  #isBusy = $state(false);
  #problem = $state<string | null>(null);

  constructor(
    private readonly api: Api,
    private readonly threadId: string,
  ) {}

  get all(): readonly ShareWire[] {
    return this.#all;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  get problem(): string | null {
    return this.#problem;
  }

  load(): Promise<boolean> {
    return this.#try(async () => {
      this.#all = await this.api.send<ShareWire[]>('GET', this.#place());
    });
  }

  create(days: number): Promise<boolean> {
    return this.#try(async () => {
      const share = await this.api.send<ShareWire>('POST', this.#place(), { days });
      this.#all = [share, ...this.#all];
    });
  }

  revoke(id: string): Promise<boolean> {
    return this.#try(async () => {
      await this.api.send('DELETE', `${this.#place()}/${id}`);
      this.#all = this.#all.filter((share) => share.share_id !== id);
    });
  }

  #place(): string {
    return `/threads/${this.threadId}/shares`;
  }

  async #try(run: () => Promise<void>): Promise<boolean> {
    this.#isBusy = true;
    this.#problem = null;
    try {
      await run();
      return true;
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : text.failed;
      return false;
    } finally {
      this.#isBusy = false;
    }
  }
}

/** Whether only this computer can reach the address. */
export function isLocal(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.');
}
