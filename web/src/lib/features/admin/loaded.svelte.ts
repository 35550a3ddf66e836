/** Something that the server has, how it was read last, and why it could not be. */
export class Loaded<T> {
  #value = $state.raw<T | null>(null);
  #problem = $state('');

  constructor(private readonly read: () => Promise<T>) {}

  get value(): T | null {
    return this.#value;
  }

  get problem(): string {
    return this.#problem;
  }

  /** Read it, after something was done to it; whether both worked. */
  async load(work: () => Promise<unknown> = () => Promise.resolve()): Promise<boolean> {
    this.#problem = '';
    try {
      await work();
      this.#value = await this.read();
      return true;
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
      return false;
    }
  }
}
