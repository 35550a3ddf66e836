import { beforeEach, describe, expect, it } from 'vitest';
import { emptyView, newAgent } from '$lib/stream/view';
import { editMessageOf } from './edit-message';
import { countOf, PendingEdits } from './pending-edits.svelte';
import { Zoom, type Size } from './zoom.svelte';
import { draw } from './layout';
import { mapOf, rowsOf, statusOf, targetsFor, type ArgumentMap, type Bond, type Kind } from './map';

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
    new PendingEdits().decide(argued, 't', 'gold', 'refused', 'Gold is trust, too.');
    const pending = new PendingEdits();
    expect(statusOf(pending.over(argued, 't'), 'gold')).toBe('refused');
    expect(statusOf(pending.over(argued, 'other'), 'gold')).toBe('proposed');
    const decision = { status: 'refused', revision: 1, reason: 'Gold is trust, too.' };
    expect(pending.input(argued, 't')).toEqual({ argument_map: { decisions: { gold: decision } } });
    const told = { ...argued, decisions: { gold: decision as never } };
    expect(pending.input(told, 't')).toEqual({});
  });

  it('can be taken back before anybody was told', () => {
    const pending = new PendingEdits();
    pending.decide(argued, 't', 'gold', 'accepted');
    pending.decide(argued, 't', 'gold', 'proposed');
    expect(pending.input(argued, 't')).toEqual({});
  });

  it('counts over what was decided before', () => {
    const pending = new PendingEdits();
    const known = { ...argued, decisions: { gold: { status: 'accepted' as const, revision: 4 } } };
    pending.decide(known, 't', 'gold', 'refused');
    expect(pending.open(known, 't').decisions['gold']).toEqual({ status: 'refused', revision: 5 });
  });
});

describe('what the person writes', () => {
  beforeEach(() => localStorage.clear());

  it('is theirs and held, stands under what it supports, and goes with the next message', () => {
    const id = new PendingEdits().add(argued, 't', { kind: 'premise', text: ' Notes  are paper. ', target: 'money' });
    const pending = new PendingEdits();
    expect(rowsOf(pending.over(argued, 't')).find((row) => row.node.id === id)).toMatchObject({ bond: 'supports', level: 2 });
    const key = `${id} supports money`;
    expect(pending.input(argued, 't')).toEqual({
      argument_map: {
        nodes: { [id]: { id, kind: 'premise', text: 'Notes are paper.', author: 'person', source: {} } },
        relations: { [key]: { origin: id, kind: 'supports', target: 'money' } },
        decisions: { [id]: { status: 'accepted', revision: 1 } },
      },
    });
    expect(editMessageOf(argued, pending.open(argued, 't'))).toMatch(/^I add a premise: “Notes are paper\.”, which supports “money .*”$/);
    expect(pending.input(pending.over(argued, 't'), 't')).toEqual({});
  });

  it('can be taken back before it is sent', () => {
    const pending = new PendingEdits();
    pending.withdraw('t', pending.add(argued, 't', { kind: 'objection', text: 'Why?', target: 'money' }));
    expect(pending.input(argued, 't')).toEqual({});
  });

  it('takes the place of what it rewords, which is rejected with the new words as the reason', () => {
    const pending = new PendingEdits();
    const id = pending.reword(argued, 't', 'gold', 'Gold came first.');
    const map = pending.over(argued, 't');
    expect(statusOf(map, 'gold')).toBe('refused');
    expect(map.decisions['gold']!.reason).toContain('Gold came first.');
    expect(rowsOf(map).map(({ node, level }) => [node.id, level])).toContainEqual([id, 2]);
    expect(rowsOf(map).map(({ node, level }) => [node.id, level])).toContainEqual(['shops', 3]);
    const open = pending.open(argued, 't');
    expect(countOf(open)).toBe(1);
    expect(editMessageOf(argued, open)).toMatch(/^I would rather say “Gold came first\.” than “gold .*”$/);
    pending.withdraw('t', id);
    expect(pending.input(argued, 't')).toEqual({});
  });

  it('can be reworded again before it is sent', () => {
    const pending = new PendingEdits();
    const first = pending.reword(argued, 't', 'gold', 'Gold came first.');
    const second = pending.reword(argued, 't', first, 'Gold was first.');
    const map = pending.over(argued, 't');
    expect(first in map.nodes).toBe(false);
    expect(statusOf(map, 'gold')).toBe('refused');
    expect(rowsOf(map).map(({ node, level }) => [node.id, level])).toContainEqual([second, 2]);
  });

  it('is only offered to bear on what it can bear on', () => {
    expect(targetsFor(argued, 'reply').map(({ id }) => id)).toEqual(['gold']);
    const quoted = { ...argued, nodes: { ...argued.nodes, ...build({ page: 'evidence' }).nodes } };
    expect(targetsFor(quoted, 'premise').map(({ id }) => id)).not.toContain('page');
    expect(targetsFor(quoted, 'objection').map(({ id }) => id)).toContain('page');
  });
});

describe('the size of a drawing', () => {
  const zoomIn = (room: Size, drawing: Size) => new Zoom(() => room, () => drawing, { smallest: 0.5, largest: 2 });

  it('fits the room, within limits, until the person zooms', () => {
    expect(zoomIn({ width: 800, height: 300 }, { width: 400, height: 300 }).scale).toBe(1);
    expect(zoomIn({ width: 800, height: 900 }, { width: 400, height: 300 }).scale).toBe(2);
    const zoom = zoomIn({ width: 100, height: 100 }, { width: 400, height: 300 });
    expect(zoom.scale).toBe(0.5);
    zoom.in();
    expect([zoom.scale, zoom.isFitted]).toEqual([0.625, false]);
    for (let n = 0; n < 20; n += 1) zoom.in();
    expect(zoom.scale).toBe(3);
    zoom.fit();
    expect([zoom.scale, zoom.isFitted]).toEqual([0.5, true]);
  });
});
