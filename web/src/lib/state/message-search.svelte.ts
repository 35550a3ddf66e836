/** Search in what was said, by the server: a moment after the last key, and only for the newest words. */
import type { Api } from '$lib/protocol/api';
import type { ThreadHitWire } from '$lib/protocol/wire';

const TYPING_MS = 200;
const SHORTEST = 2;

export class MessageSearch {
  #hits = $state.raw<readonly ThreadHitWire[]>([]);
  #isSearching = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #words = '';

  constructor(private readonly api: Api) {}

  get hits(): readonly ThreadHitWire[] {
    return this.#hits;
  }

  get isSearching(): boolean {
    return this.#isSearching;
  }

  /** Look for words; fewer than two letters find nothing. What was found stays until there is more. */
  look(words: string): void {
    this.#words = words.trim();
    clearTimeout(this.#timer);
    this.#isSearching = this.#words.length >= SHORTEST;
    if (this.#isSearching) this.#timer = setTimeout(() => void this.#ask(this.#words), TYPING_MS);
    else this.#hits = [];
  }

  async #ask(words: string): Promise<void> {
    // What fails is told by the search in titles, which asks the same server.
    const hits = await this.api.searchMessages(words).catch(() => []);
    if (words !== this.#words) return;
    this.#hits = hits;
    this.#isSearching = false;
  }
}
