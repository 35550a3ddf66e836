/** A long list, or much of it at once, is drawn over several frames: as many items as each can bear. */
import { nextFrame } from './frames';

/** The first is drawn by code that the browser has not warmed up yet. */
const FIRST = 1;
const LEAST = 4;
const MOST = 12;
const SLOW_MS = 34;

export class ProgressiveList {
  #limit = $state(FIRST);
  #step = FIRST;
  #isAsked = false;

  /** Where a component begins; `count` is how many items there are. */
  constructor(count: () => number) {
    $effect(() => {
      if (count() > this.#limit) this.#ask();
    });
  }

  /** How many are drawn now. */
  get limit(): number {
    return this.#limit;
  }

  /** Once a frame, however often the list has grown since. */
  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const asked = performance.now();
    nextFrame(() => {
      this.#isAsked = false;
      const isSlow = performance.now() - asked > SLOW_MS;
      this.#step = isSlow ? Math.max(LEAST, this.#step >> 1) : Math.min(MOST, this.#step + 1);
      this.#limit += this.#step;
    });
  }
}
