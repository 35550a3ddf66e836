/** The node of the map that is looked at. */
export class Looking {
  #node = $state<string | null>(null);

  get node(): string | null {
    return this.#node;
  }

  at(node: string | null): void {
    this.#node = node;
  }
}

let shared: Looking | undefined;

/** The one of this page. */
export function useLooking(): Looking {
  shared ??= new Looking();
  return shared;
}
