import { beforeEach, describe, expect, it } from 'vitest';
import { emptyView, newAgent } from '$lib/stream/view';
import { PendingDecisions } from './pending-decisions.svelte';
import { draw } from './layout';
import { mapOf, rowsOf, statusOf, type ArgumentMap, type Bond, type Kind } from './map';

function build(nodes: Record<string, Kind>, relations: [string, Bond, string][] = []): ArgumentMap {
  return {
    nodes: Object.fromEntries(Object.entries(nodes).map(([id, kind]) => [id, { id, kind, text: `${id} `.repeat(9), author: 'tutor', source: {} }])),
    relations: Object.fromEntries(relations.map(([origin, kind, target]) => [`${origin} ${kind} ${target}`, { origin, kind, target }])),
    decisions: {},
  };
}

const argued = build({ money: 'claim', paper: 'premise', gold: 'objection', shops: 'reply', lonely: 'claim' }, [
  ['paper', 'supports', 'money'],
  ['gold', 'attacks', 'money'],
  ['shops', 'answers', 'gold'],
]);

describe('the map as a tree', () => {
  it('has what bears on a node under it, each node with its place among its like', () => {
    const told = rowsOf(argued).map(({ node, bond, level, place, size }) => [node.id, bond, level, place, size]);
    expect(told).toEqual([
      ['lonely', null, 1, 1, 2],
      ['money', null, 1, 2, 2],
      ['gold', 'attacks', 2, 1, 2],
      ['shops', 'answers', 3, 1, 1],
      ['paper', 'supports', 2, 2, 2],
    ]);
  });

  it('ends in a circle, and has every node', () => {
    const round = build({ a: 'claim', b: 'claim', c: 'premise' }, [['a', 'supports', 'b'], ['b', 'supports', 'a'], ['c', 'supports', 'a']]);
    const rows = rowsOf(round);
    expect(new Set(rows.map((row) => row.node.id))).toEqual(new Set(['a', 'b', 'c']));
    expect(rows.filter((row) => row.isAgain)).toHaveLength(1);
  });
});

describe('the map as a picture', () => {
  const overlap = (drawing: ReturnType<typeof draw>) =>
    drawing.boxes.some((a, i) =>
      drawing.boxes.slice(i + 1).some((b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height),
    );

  it.each([280, 400, 1200])('puts what bears on a node below it, and nothing on anything else, in %i px', (width) => {
    const many = build(Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`p${n}`, 'premise'])), []);
    const wide = { ...argued, nodes: { ...argued.nodes, ...many.nodes } };
    for (const map of [argued, wide, build({ a: 'claim', b: 'claim' }, [['a', 'supports', 'b'], ['b', 'supports', 'a']])]) {
      const drawing = draw(map, width);
      expect(overlap(drawing)).toBe(false);
      expect(drawing.boxes.every((box) => box.x >= 0 && box.x + box.width <= width && box.y + box.height <= drawing.height)).toBe(true);
      expect(drawing.edges).toHaveLength(Object.keys(map.relations).length);
    }
    const place = new Map(draw(argued, width).boxes.map((box) => [box.node.id, box.y]));
    expect(place.get('paper')).toBeGreaterThan(place.get('money')!);
    expect(place.get('shops')).toBeGreaterThan(place.get('gold')!);
  });

  it('leaves out what was refused', () => {
    const map = { ...argued, decisions: { gold: { status: 'refused' as const, revision: 1 } } };
    expect(draw(map, 400).boxes.map((box) => box.node.id)).not.toContain('gold');
    expect(draw(map, 400).edges).toHaveLength(1);
  });
});

it('has what a voice adds before the voice has ended', () => {
  const root = { ...newAgent('', []), values: { argument_map: build({ a: 'claim' }) } };
  const voice = { ...newAgent('task:1', ['task:1']), values: { argument_map: build({ b: 'objection' }) } };
  const view = { ...emptyView(), agents: { '': root, 'task:1': voice } };
  expect(Object.keys(mapOf(view).nodes).sort()).toEqual(['a', 'b']);
  const ended = { ...view, agents: { '': root, 'task:1': { ...voice, status: 'failed' as const } } };
  expect(Object.keys(mapOf(ended).nodes)).toEqual(['a']);
});

describe('what the person decides', () => {
  beforeEach(() => localStorage.clear());

  it('stands at once, goes with the next message, and is kept over a reload until the server has it', () => {
    new PendingDecisions().decide(argued, 't', 'gold', 'refused', 'Gold is trust, too.');
    const pending = new PendingDecisions();
    expect(statusOf(pending.over(argued, 't'), 'gold')).toBe('refused');
    expect(statusOf(pending.over(argued, 'other'), 'gold')).toBe('proposed');
    const decision = { status: 'refused', revision: 1, reason: 'Gold is trust, too.' };
    expect(pending.input(argued, 't')).toEqual({ argument_map: { decisions: { gold: decision } } });
    const told = { ...argued, decisions: { gold: decision as never } };
    expect(pending.input(told, 't')).toEqual({});
  });

  it('can be taken back before anybody was told', () => {
    const pending = new PendingDecisions();
    pending.decide(argued, 't', 'gold', 'accepted');
    pending.decide(argued, 't', 'gold', 'proposed');
    expect(pending.input(argued, 't')).toEqual({});
  });

  it('counts over what was decided before', () => {
    const pending = new PendingDecisions();
    const known = { ...argued, decisions: { gold: { status: 'accepted' as const, revision: 4 } } };
    pending.decide(known, 't', 'gold', 'refused');
    expect(pending.open(known, 't')['gold']).toEqual({ status: 'refused', revision: 5 });
  });
});
