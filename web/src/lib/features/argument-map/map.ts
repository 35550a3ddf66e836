/** The argument map as the thread's state has it: docs/argument-map.md. Pure data and questions to it. */
import { isFields } from '$lib/protocol/fields';
import type { View } from '$lib/stream/view';

export const KINDS = ['claim', 'premise', 'evidence', 'objection', 'reply'] as const;
export type Kind = (typeof KINDS)[number];
export type Bond = 'supports' | 'attacks' | 'answers';
export type Status = 'proposed' | 'accepted' | 'refused';

/** How a node of each kind bears on another. */
export const BOND_OF: Record<Kind, Bond> = { claim: 'supports', premise: 'supports', evidence: 'supports', objection: 'attacks', reply: 'answers' };
/** What each relation may point to, as the server has it: `MAY` in `bathysphere.argument.map`. */
const TARGETS: Record<Bond, readonly Kind[]> = {
  supports: ['claim', 'premise', 'objection', 'reply'],
  attacks: KINDS,
  answers: ['objection'],
};

/** Where a node comes from: words in a message, or a span of a file. */
export interface NodeSource {
  message?: string;
  said?: string;
  file?: string;
  version?: string;
  start?: number;
  end?: number;
  quote?: string;
}

export interface MapNode {
  id: string;
  kind: Kind;
  text: string;
  author: string;
  source: NodeSource;
}

export interface Relation {
  origin: string;
  kind: Bond;
  target: string;
}

export interface Decision {
  status: Status;
  revision: number;
  reason?: string;
}

export interface ArgumentMap {
  nodes: Record<string, MapNode>;
  relations: Record<string, Relation>;
  decisions: Record<string, Decision>;
}

/** One line of the map as a tree: a node, and how it bears on the one above. */
export interface Row {
  key: string;
  node: MapNode;
  bond: Bond | null;
  level: number;
  /** Its place among those that bear on the same node, from 1. */
  place: number;
  size: number;
  /** It stands with all that bears on it further up already. */
  isAgain: boolean;
}

const EMPTY: ArgumentMap = { nodes: {}, relations: {}, decisions: {} };

/** What all agents have put on the map, those that are still at work too. */
export function mapOf(view: View): ArgumentMap {
  const maps = Object.values(view.agents)
    .filter((agent) => agent.key === '' || agent.status === 'running')
    .map((agent) => agent.values['argument_map'])
    .filter(isFields) as unknown as Partial<ArgumentMap>[];
  return maps.reduce<ArgumentMap>(merge, EMPTY);
}

function merge(one: ArgumentMap, two: Partial<ArgumentMap>): ArgumentMap {
  const decisions = { ...one.decisions };
  for (const [id, decision] of Object.entries(two.decisions ?? {})) {
    if (decision.revision > (decisions[id]?.revision ?? -1)) decisions[id] = decision;
  }
  return { nodes: { ...two.nodes, ...one.nodes }, relations: { ...two.relations, ...one.relations }, decisions };
}

export function statusOf(map: ArgumentMap, id: string): Status {
  return map.decisions[id]?.status ?? 'proposed';
}

export function liveNodes(map: ArgumentMap): MapNode[] {
  return Object.values(map.nodes)
    .filter((node) => statusOf(map, node.id) !== 'refused')
    .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.id < b.id ? -1 : 1));
}

/** What a node of this kind may bear on. */
export function targetsFor(map: ArgumentMap, kind: Kind): MapNode[] {
  return liveNodes(map).filter((node) => TARGETS[BOND_OF[kind]].includes(node.kind));
}

export function relationKeyOf({ origin, kind, target }: Relation): string {
  return `${origin} ${kind} ${target}`;
}

export function refusedNodes(map: ArgumentMap): MapNode[] {
  return Object.values(map.nodes).filter((node) => statusOf(map, node.id) === 'refused');
}

export function liveRelations(map: ArgumentMap): Relation[] {
  const live = new Set(liveNodes(map).map((node) => node.id));
  return Object.keys(map.relations)
    .sort()
    .map((key) => map.relations[key]!)
    .filter(({ origin, target }) => live.has(origin) && live.has(target));
}

/** The map as a tree: under each node what bears on it. A node in a circle ends it. */
export function rowsOf(map: ArgumentMap): Row[] {
  const nodes = new Map(liveNodes(map).map((node) => [node.id, node]));
  const relations = liveRelations(map);
  const rows: Row[] = [];
  const shown = new Set<string>();
  const add = (node: MapNode, bond: Bond | null, level: number, place: number, size: number, path: string) => {
    const isAgain = shown.has(node.id);
    const key = `${path}/${node.id}`;
    rows.push({ key, node, bond, level, place, size, isAgain });
    if (isAgain) return;
    shown.add(node.id);
    const below = relations.filter((relation) => relation.target === node.id);
    below.forEach(({ origin, kind }, index) => add(nodes.get(origin)!, kind, level + 1, index + 1, below.length, key));
  };
  const bearing = new Set(relations.map((relation) => relation.origin));
  const roots = [...nodes.values()].filter((node) => !bearing.has(node.id));
  roots.forEach((node, index) => add(node, null, 1, index + 1, roots.length, ''));
  for (const node of nodes.values()) if (!shown.has(node.id)) add(node, null, 1, 1, 1, '');
  return rows;
}
