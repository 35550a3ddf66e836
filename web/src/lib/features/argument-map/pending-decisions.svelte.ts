/**
 * What the person decided about the map and has not told yet. It goes with their next message, as
 * `decisions` of the map; until then it is kept in this browser, also over a reload.
 */
import { readStoredJson, writeStored } from '$lib/browser-storage';
import type { Fields } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import type { ArgumentMap, Decision, Status } from './map';

const STORED = 'bathysphere.decisions';
type Decided = Record<string, Decision>;

export class PendingDecisions {
  #all = $state.raw<Record<string, Decided>>(read());

  /** The map with what was decided here. */
  over(map: ArgumentMap, thread: string): ArgumentMap {
    return { ...map, decisions: { ...map.decisions, ...this.open(map, thread) } };
  }

  /** What the server does not know yet. */
  open(map: ArgumentMap, thread: string): Decided {
    const own = Object.entries(this.#all[thread] ?? {});
    return Object.fromEntries(own.filter(([id, decision]) => decision.revision > (map.decisions[id]?.revision ?? 0)));
  }

  decide(map: ArgumentMap, thread: string, id: string, status: Status, reason = ''): void {
    const known = map.decisions[id];
    const { [id]: _, ...others } = this.#all[thread] ?? {};
    const isAsBefore = status === (known?.status ?? 'proposed');
    const decision: Decision = { status, revision: (known?.revision ?? 0) + 1, ...(reason ? { reason } : {}) };
    this.#all = { ...this.#all, [thread]: isAsBefore ? others : { ...others, [id]: decision } };
    this.#save();
  }

  /** What goes with the next message of a thread. */
  input(map: ArgumentMap, thread: string): Fields {
    const decisions = this.open(map, thread);
    return Object.keys(decisions).length ? { argument_map: { decisions: decisions as unknown as Fields } } : {};
  }

  #save(): void {
    const kept = Object.entries(this.#all).filter(([, decided]) => Object.keys(decided).length);
    writeStored(STORED, JSON.stringify(Object.fromEntries(kept.slice(-50))));
  }
}

function read(): Record<string, Decided> {
  const stored = readStoredJson(STORED);
  return isFields(stored) ? (stored as unknown as Record<string, Decided>) : {};
}

let shared: PendingDecisions | undefined;

/** The one of this page. */
export function usePendingDecisions(): PendingDecisions {
  shared ??= new PendingDecisions();
  return shared;
}
