/** The node of the map that is looked at. */
export class MapSelection {
  #node = $state<string | null>(null);

  get node(): string | null {
    return this.#node;
  }

  select(node: string | null): void {
    this.#node = node;
  }
}

let shared: MapSelection | undefined;

/** The one of this page. */
export function useMapSelection(): MapSelection {
  shared ??= new MapSelection();
  return shared;
}
