/** Loads the model that the server runs itself, and shows how far it is. */
import { text } from '$lib/text';
import type { Api, LoadProgress } from '$lib/protocol/api';
import { problemOf } from './problem';

export class ModelLoading {
  #current = $state.raw<LoadProgress | null>(null);

  constructor(
    private readonly api: Api,
    private readonly onend: () => Promise<void>,
  ) {}

  /** The newest step; null if nobody has asked for it on this page. */
  get current(): LoadProgress | null {
    return this.#current;
  }

  get isRunning(): boolean {
    return this.#current?.status === 'loading' || this.#current?.status === 'downloading';
  }

  async start(): Promise<void> {
    if (this.isRunning) return;
    this.#current = { status: 'loading' };
    try {
      for await (const step of this.api.loadModel()) this.#current = step;
      if (this.isRunning) this.#fail(text.models.loadBroken);
    } catch (error) {
      this.#fail(problemOf(error, null).message);
    }
    await this.onend();
  }

  #fail(error: string): void {
    this.#current = { status: 'error', error };
  }
}
