/**
 * What the person changed on the map and has not sent yet: decisions, points of their own, new wordings.
 * It goes with their next message, as input for `argument_map`; until then it is kept in this browser,
 * also over a reload.
 */
import { readStoredJson, writeStored } from '$lib/browser-storage';
import type { Fields } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import { relationKeyOf, BOND_OF, type ArgumentMap, type Decision, type Kind, type MapNode, type Relation, type Status } from './map';
import { nodeIdOf, normalized } from './node-id';
import { mapText as text } from './text';

const STORED = 'bathysphere.map-edits';

/** Parts of a map, and which node a new wording replaces. */
export interface Edits extends ArgumentMap {
  rewords: Record<string, string>;
}

export interface Point {
  kind: Kind;
  text: string;
  /** The node that it bears on. */
  target?: string;
}

const NONE: Edits = { nodes: {}, relations: {}, decisions: {}, rewords: {} };

export class PendingEdits {
  #all = $state.raw<Record<string, Edits>>(read());

  /** The map with what was changed here. */
  over(map: ArgumentMap, thread: string): ArgumentMap {
    const { nodes, relations, decisions } = this.open(map, thread);
    return {
      nodes: { ...map.nodes, ...nodes },
      relations: { ...map.relations, ...relations },
      decisions: { ...map.decisions, ...decisions },
    };
  }

  /** What the server does not know yet. */
  open(map: ArgumentMap, thread: string): Edits {
    const { nodes, relations, decisions, rewords } = this.#of(thread);
    return {
      nodes: omit(nodes, (id) => id in map.nodes),
      relations: omit(relations, (key) => key in map.relations),
      decisions: omit(decisions, (id, { revision }) => revision <= (map.decisions[id]?.revision ?? 0)),
      rewords: omit(rewords, (id) => id in map.nodes),
    };
  }

  decide(map: ArgumentMap, thread: string, id: string, status: Status, reason = ''): void {
    const edits = this.#of(thread);
    const known = map.decisions[id];
    const others = omit(edits.decisions, (other) => other === id);
    const isAsBefore = status === (known?.status ?? 'proposed');
    this.#set(thread, { ...edits, decisions: isAsBefore ? others : { ...others, [id]: decisionOver(known, status, reason) } });
  }

  /** Put a point of the person on the map; returns its id. They hold what they write. */
  add(map: ArgumentMap, thread: string, point: Point): string {
    const node = nodeOf(point.kind, point.text);
    const relations = point.target ? [{ origin: node.id, kind: BOND_OF[point.kind], target: point.target }] : [];
    this.#put(map, thread, node, relations);
    return node.id;
  }

  /** Say a point in the person's words: a new point in the same place, and the old one is rejected. */
  reword(map: ArgumentMap, thread: string, id: string, words: string): string {
    const now = this.over(map, thread);
    const old = now.nodes[id]!;
    const node = { ...nodeOf(old.kind, words), source: old.source };
    if (node.id === id) return id;
    const instead = (end: string) => (end === id ? node.id : end);
    const relations = Object.values(now.relations).filter(({ origin, target }) => origin === id || target === id);
    const moved = relations.map(({ origin, kind, target }) => ({ origin: instead(origin), kind, target: instead(target) }));
    // A wording that nobody was told of is not rejected, but gone; what it replaced still is.
    const replaced = id in map.nodes ? id : this.#of(thread).rewords[id];
    if (!(id in map.nodes)) this.withdraw(thread, id);
    this.#put(map, thread, node, moved);
    if (!replaced || replaced === node.id) return node.id;
    this.decide(map, thread, replaced, 'refused', text.reworded(node.text));
    const edits = this.#of(thread);
    this.#set(thread, { ...edits, rewords: { ...edits.rewords, [node.id]: replaced } });
    return node.id;
  }

  /** Take back a point that was not sent yet. */
  withdraw(thread: string, id: string): void {
    const { nodes, relations, decisions, rewords } = this.#of(thread);
    const old = rewords[id];
    this.#set(thread, {
      nodes: omit(nodes, (other) => other === id),
      relations: omit(relations, (_, { origin, target }) => origin === id || target === id),
      decisions: omit(decisions, (other) => other === id || other === old),
      rewords: omit(rewords, (other) => other === id),
    });
  }

  /** What goes with the next message of a thread. */
  input(map: ArgumentMap, thread: string): Fields {
    const { rewords: _, ...parts } = this.open(map, thread);
    const changed = Object.entries(parts).filter(([, entries]) => Object.keys(entries).length);
    return changed.length ? { argument_map: Object.fromEntries(changed) as unknown as Fields } : {};
  }

  #put(map: ArgumentMap, thread: string, node: MapNode, relations: readonly Relation[]): void {
    const edits = this.#of(thread);
    const keyed = relations.map((relation): [string, Relation] => [relationKeyOf(relation), relation]);
    this.#set(thread, {
      ...edits,
      nodes: node.id in map.nodes ? edits.nodes : { ...edits.nodes, [node.id]: node },
      relations: { ...edits.relations, ...Object.fromEntries(keyed) },
    });
    this.decide(map, thread, node.id, 'accepted');
  }

  #of(thread: string): Edits {
    return { ...NONE, ...this.#all[thread] };
  }

  #set(thread: string, edits: Edits): void {
    this.#all = { ...this.#all, [thread]: edits };
    const kept = Object.entries(this.#all).filter(([, one]) => Object.values(one).some((part: object) => Object.keys(part).length));
    writeStored(STORED, JSON.stringify(Object.fromEntries(kept.slice(-50))));
  }
}

/** How many changes a person would count: a new wording is one. */
export function countOf({ nodes, decisions, rewords }: Edits): number {
  const replaced = Object.values(rewords);
  return new Set([...Object.keys(nodes), ...Object.keys(decisions)].filter((id) => !replaced.includes(id))).size;
}

function nodeOf(kind: Kind, words: string): MapNode {
  return { id: nodeIdOf(kind, words), kind, text: normalized(words), author: 'person', source: {} };
}

function decisionOver(known: Decision | undefined, status: Status, reason: string): Decision {
  return { status, revision: (known?.revision ?? 0) + 1, ...(reason ? { reason } : {}) };
}

function omit<Value>(entries: Record<string, Value>, isOmitted: (key: string, value: Value) => boolean): Record<string, Value> {
  return Object.fromEntries(Object.entries(entries).filter(([key, value]) => !isOmitted(key, value)));
}

function read(): Record<string, Edits> {
  const stored = readStoredJson(STORED);
  return isFields(stored) ? (stored as unknown as Record<string, Edits>) : {};
}

let shared: PendingEdits | undefined;

/** The one of this page. */
export function usePendingEdits(): PendingEdits {
  shared ??= new PendingEdits();
  return shared;
}
