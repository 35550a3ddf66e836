/** When a replay applies what has come: for a few milliseconds of each frame, so that typing and scrolling come first. */
import type { WireEvent } from '$lib/protocol/wire';
import { nextFrame } from './frames';
import type { Replay } from './replay';

const SLICE_MS = 8;
const QUIET_MS = 400;

export interface ReplayOwner {
  /** The replay of the current opening. */
  readonly replay: () => Replay;
  readonly isClosed: () => boolean;
  /** The replay has something else to show. */
  readonly onchange: () => void;
}

export class ReplayScheduler {
  #isDraining = false;
  #quiet: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly owner: ReplayOwner) {}

  take(event: WireEvent): void {
    if (!this.owner.replay().take(event) || this.#isDraining) return;
    this.#drainNextFrame();
  }

  /** A replay that catches up and falls silent has caught up. */
  expectQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      this.owner.replay().settle();
      this.owner.onchange();
    }, QUIET_MS);
  }

  cancel(): void {
    clearTimeout(this.#quiet);
  }

  #drainNextFrame(): void {
    this.#isDraining = true;
    nextFrame(() => this.#drain());
  }

  #drain(): void {
    this.#isDraining = false;
    if (this.owner.isClosed()) return;
    const replay = this.owner.replay();
    const end = performance.now() + SLICE_MS;
    replay.drain(() => performance.now() <= end);
    if (replay.isCatchingUp) this.expectQuiet();
    this.owner.onchange();
    if (replay.hasQueued) this.#drainNextFrame();
  }
}
