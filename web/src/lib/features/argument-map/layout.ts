/** Places for the nodes of a map: what bears on a node stands below it, in as many columns as fit. */
import { liveNodes, liveRelations, type ArgumentMap, type Bond, type MapNode } from './map';

/** Room for the line around a box. */
const EDGE = 2;
const GAP_X = 14;
const GAP_Y = 40;
const WIDEST = 230;
const NARROWEST = 150;
const LINE = 17;
const HEAD = 30;
const MOST_LINES = 4;
const LETTER = 6.6;

export interface Box {
  node: MapNode;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Edge {
  key: string;
  kind: Bond;
  path: string;
  /** Where its head is; it points up or down. */
  end: { x: number; y: number; isUp: boolean };
}

export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  edges: Edge[];
}

/** The width that the map would take if it had all the room it wants: no row longer than eight. */
export function naturalWidth(map: ArgumentMap): number {
  const most = Math.min(8, Math.max(1, ...layersOf(map).map((layer) => layer.length)));
  return most * (WIDEST + GAP_X) - GAP_X + 2 * EDGE;
}

export function draw(map: ArgumentMap, whole: number): Drawing {
  const width = whole - 2 * EDGE;
  const nodes = liveNodes(map);
  const columns = Math.max(1, Math.floor((width + GAP_X) / (NARROWEST + GAP_X)));
  const most = Math.min(columns, Math.max(1, ...layersOf(map).map((layer) => layer.length)));
  const boxWidth = Math.min(WIDEST, (width - (most - 1) * GAP_X) / most);
  const boxes: Box[] = [];
  let y = 2;
  for (const layer of layersOf(map)) {
    for (let from = 0; from < layer.length; from += columns) {
      const row = layer.slice(from, from + columns);
      const left = EDGE + (width - row.length * boxWidth - (row.length - 1) * GAP_X) / 2;
      const placed = row.map((node, index) => ({
        node,
        x: left + index * (boxWidth + GAP_X),
        y,
        width: boxWidth,
        height: heightOf(node.text, boxWidth),
      }));
      boxes.push(...placed);
      y += Math.max(...placed.map((box) => box.height)) + GAP_Y;
    }
  }
  const byId = new Map(boxes.map((box) => [box.node.id, box]));
  const edges = liveRelations(map).map(({ origin, kind, target }) => ({
    key: `${origin} ${kind} ${target}`,
    kind,
    ...pathOf(byId.get(origin)!, byId.get(target)!, boxes),
  }));
  return { width: whole, height: nodes.length ? y - GAP_Y + 4 : 0, boxes, edges };
}

/** The nodes by their distance from what they bear on in the end; each row near its targets. */
function layersOf(map: ArgumentMap): MapNode[][] {
  const relations = liveRelations(map);
  const targets = new Map<string, string[]>();
  for (const { origin, target } of relations) targets.set(origin, [...(targets.get(origin) ?? []), target]);
  const levels = new Map<string, number>();
  const levelOf = (id: string, path: ReadonlySet<string>): number => {
    const known = levels.get(id);
    if (known !== undefined) return known;
    const ahead = (targets.get(id) ?? []).filter((target) => !path.has(target));
    const level = Math.max(-1, ...ahead.map((target) => levelOf(target, new Set([...path, id])))) + 1;
    levels.set(id, level);
    return level;
  };
  const layers: MapNode[][] = [];
  for (const node of liveNodes(map)) (layers[levelOf(node.id, new Set())] ??= []).push(node);
  const places = new Map<string, number>();
  return Array.from(layers, (layer = []) => {
    const weightOf = (node: MapNode) => {
      const found = (targets.get(node.id) ?? []).map((id) => places.get(id)).filter((place) => place !== undefined);
      return found.length ? found.reduce((sum, place) => sum + place, 0) / found.length : 0;
    };
    const sorted = layer.toSorted((a, b) => weightOf(a) - weightOf(b));
    sorted.forEach((node, index) => places.set(node.id, (index + 0.5) / sorted.length));
    return sorted;
  });
}

function heightOf(text: string, width: number): number {
  const lines = Math.ceil((text.length * LETTER) / (width - 24));
  return HEAD + LINE * Math.min(MOST_LINES, Math.max(1, lines)) + 8;
}

/** A line from below one box to another, through the gap between columns where boxes are in the way. */
function pathOf(from: Box, to: Box, boxes: readonly Box[]): Pick<Edge, 'path' | 'end'> {
  const isBelow = from.y > to.y;
  const x1 = from.x + from.width / 2;
  const y1 = isBelow ? from.y : from.y + from.height;
  const middle = to.x + to.width / 2;
  const y2 = isBelow ? to.y + to.height + 5 : to.y - 5;
  const between = boxes.filter((box) => box.y > Math.min(from.y, to.y) && box.y < Math.max(from.y, to.y));
  const gap = between.length ? gapNear(between, (x1 + middle) / 2) : null;
  // Lines end side by side, each nearer to where it comes from.
  const x2 = middle + Math.max(-0.35, Math.min(0.35, ((gap ?? x1) - middle) / (3 * to.width))) * to.width;
  const end = { x: x2, y: y2, isUp: isBelow };
  if (gap === null) return { path: `M${at(x1, y1)}${curve(x1, y1, x2, y2)}`, end };
  const tops = between.map((box) => box.y);
  const ends = between.map((box) => box.y + box.height);
  const [enter, leave] = isBelow ? [Math.max(...ends), Math.min(...tops)] : [Math.min(...tops), Math.max(...ends)];
  return { path: `M${at(x1, y1)}${curve(x1, y1, gap, enter)}L${at(gap, leave)}${curve(gap, leave, x2, y2)}`, end };
}

function gapNear(boxes: readonly Box[], x: number): number {
  const gaps = boxes.flatMap((box) => [box.x - GAP_X / 2, box.x + box.width + GAP_X / 2]);
  const free = gaps.filter((gap) => boxes.every((box) => gap < box.x || gap > box.x + box.width));
  return free.reduce((best, gap) => (Math.abs(gap - x) < Math.abs(best - x) ? gap : best), free[0] ?? x);
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const bend = Math.max(12, Math.abs(y2 - y1) / 2) * (y2 < y1 ? -1 : 1);
  return `C${at(x1, y1 + bend)} ${at(x2, y2 - bend)} ${at(x2, y2)}`;
}

const at = (x: number, y: number) => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
