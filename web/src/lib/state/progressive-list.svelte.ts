/** A long list, or much of it at once, is drawn over several frames: as many items as each can bear. */
import { flushSync } from 'svelte';
import { nextFrame } from './frames';

/** The first is drawn by code that the browser has not warmed up yet. */
const FIRST = 1;
const LEAST = 2;
const MOST = 16;
const SLOW_MS = 34;
/** Laying out and painting what was drawn takes as long again. */
const DRAWING_MS = 5;

export class ProgressiveList {
  #limit = $state(FIRST);
  #step = FIRST;
  #isAsked = false;

  /** Where a component begins; `count` is how many items there are. */
  constructor(private readonly count: () => number) {
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
      const began = performance.now();
      const most = this.#limit + this.#step;
      const isInTime = () => performance.now() - began <= DRAWING_MS;
      do flushSync(() => (this.#limit += 1));
      while (isInTime() && this.#limit < Math.min(most, this.count()));
      const isSlow = began - asked > SLOW_MS || !isInTime();
      this.#step = isSlow ? Math.max(LEAST, this.#step >> 1) : Math.min(MOST, this.#step + 1);
    });
  }
}
