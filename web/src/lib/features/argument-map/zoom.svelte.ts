/** How large a drawing is shown in its room: fitted to it until the person zooms. */
const SMALLEST = 0.25;
const LARGEST = 3;
const STEP = 1.25;

export interface Size {
  width: number;
  height: number;
}

export class Zoom {
  /** Null while the drawing is fitted. */
  #own = $state<number | null>(null);

  constructor(
    private readonly room: () => Size,
    private readonly drawing: () => Size,
    /** Fitted, it is not shown larger or smaller than this. */
    private readonly limits: { smallest: number; largest: number },
  ) {}

  readonly fitted = $derived.by(() => {
    const [room, drawing] = [this.room(), this.drawing()];
    if (!drawing.width || !drawing.height) return 1;
    const scale = Math.min(room.width / drawing.width, room.height / drawing.height);
    return Math.max(this.limits.smallest, Math.min(this.limits.largest, scale));
  });

  get scale(): number {
    return this.#own ?? this.fitted;
  }

  get isFitted(): boolean {
    return this.#own === null;
  }

  fit(): void {
    this.#own = null;
  }

  by(factor: number): void {
    this.#own = Math.max(SMALLEST, Math.min(LARGEST, this.scale * factor));
  }

  in(): void {
    this.by(STEP);
  }

  out(): void {
    this.by(1 / STEP);
  }
}
