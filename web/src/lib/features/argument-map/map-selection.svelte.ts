/** What is looked at: a node of the map, and the map as a drawing or as a list. */
import { readStored, writeStored } from '$lib/browser-storage';

const STORED = 'bathysphere.map-view';
export type MapViewName = 'drawing' | 'list';

export class MapSelection {
  #node = $state<string | null>(null);
  #view = $state<MapViewName>(readStored(STORED) === 'list' ? 'list' : 'drawing');

  get node(): string | null {
    return this.#node;
  }

  get view(): MapViewName {
    return this.#view;
  }

  select(node: string | null): void {
    this.#node = node;
  }

  /** The choice is remembered in this browser. */
  show(view: MapViewName): void {
    this.#view = view;
    writeStored(STORED, view);
  }
}

let shared: MapSelection | undefined;

/** The one of this page. */
export function useMapSelection(): MapSelection {
  shared ??= new MapSelection();
  return shared;
}
