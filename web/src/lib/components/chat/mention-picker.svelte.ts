/** The suggestions for an `@` at the caret of a text field, and inserting one of them. */
import type { Mention } from '$lib/extensions/types';

const LETTERS = /(?:^|\s)@([^\s@]{0,60})$/u;
const MOST = 8;

export class MentionPicker {
  #found = $state.raw<readonly Mention[]>([]);
  #current = $state(0);
  /** Position of the `@` that the list belongs to. */
  #start = -1;
  /** Position of the `@` whose list the person closed. */
  #closedAt = -1;
  #turn = 0;

  constructor(private readonly ask: (letters: string) => Promise<readonly Mention[]>[]) {}

  get found(): readonly Mention[] {
    return this.#found;
  }

  /** The index of the suggestion that Enter chooses. */
  get current(): number {
    return this.#current;
  }

  get isOpen(): boolean {
    return this.#found.length > 0;
  }

  /** Suggest what fits the letters before the caret. */
  async look(field: HTMLTextAreaElement): Promise<void> {
    const turn = (this.#turn += 1);
    const letters = LETTERS.exec(field.value.slice(0, field.selectionStart))?.[1];
    if (letters === undefined) return this.close();
    const start = field.selectionStart - letters.length - 1;
    if (start === this.#closedAt) return;
    const found = await Promise.all(this.ask(letters).map((asked) => asked.catch(() => [])));
    if (turn !== this.#turn) return;
    this.#found = found.flat().slice(0, MOST);
    this.#start = start;
    this.#current = 0;
  }

  /** Whether the key was for the list. */
  keys(event: KeyboardEvent, field: HTMLTextAreaElement): boolean {
    const isHandled = !event.isComposing && this.#act(event, field);
    if (isHandled) event.preventDefault();
    return isHandled;
  }

  choose(index: number, field: HTMLTextAreaElement): void {
    const mention = this.#found[index];
    if (!mention) return;
    field.focus();
    field.setRangeText(`${mention.words} `, this.#start, field.selectionStart, 'end');
    this.close();
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }

  close(): void {
    this.#turn += 1;
    this.#closedAt = -1;
    this.#found = [];
  }

  #act({ key, shiftKey }: KeyboardEvent, field: HTMLTextAreaElement): boolean {
    const count = this.#found.length;
    if (key === 'ArrowDown') this.#current = (this.#current + 1) % count;
    else if (key === 'ArrowUp') this.#current = (this.#current + count - 1) % count;
    else if ((key === 'Enter' || key === 'Tab') && !shiftKey) this.choose(this.#current, field);
    else if (key === 'Escape') {
      const start = this.#start;
      this.close();
      this.#closedAt = start;
    } else return false;
    return true;
  }
}
