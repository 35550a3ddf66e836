/** Which turns of a long conversation are drawn: the last ones, and earlier ones when the person goes back to them. */
const FIRST = 20;
const MORE = 20;

export class ShownTurns {
  #id = '';
  #hasTurns = false;
  #hidden = $state(0);

  /** Begin with the last turns of a conversation, as soon as it has any. What is drawn then stays. */
  open(id: string, count: number): void {
    if (id === this.#id && this.#hasTurns) return;
    this.#id = id;
    this.#hasTurns = count > 0;
    this.#hidden = Math.max(0, count - FIRST);
  }

  /** How many of the first turns are not drawn; at least the last one is. */
  hiddenOf(count: number): number {
    return Math.max(0, Math.min(this.#hidden, count - 1));
  }

  earlier(): void {
    this.from(this.#hidden - MORE);
  }

  /** Draw this turn and all after it. */
  from(index: number): void {
    this.#hidden = Math.max(0, Math.min(this.#hidden, index));
  }
}
