import { describe, expect, it } from 'vitest';
import { group, projectsOf } from './thread-groups';
import type { Thread } from './thread';
import { titleOf } from './threads.svelte';

const thread = (id: string, updatedAt: string, more: Partial<Thread> = {}): Thread => ({
  id,
  title: id,
  agent: null,
  isPinned: false,
  project: null,
  status: 'idle',
  updatedAt: new Date(updatedAt),
  metadata: {},
  ...more,
});

describe('threads', () => {
  it('are grouped by when they were last used', () => {
    const now = new Date('2026-11-15T12:00:00');
    const threads = [thread('a', '2026-11-15T00:00:01'), thread('b', '2026-11-14T23:59:00'), thread('c', '2026-11-01T00:00:00')];
    expect(group(threads, now).map(({ threads: members }) => members.map(({ id }) => id))).toEqual([['a'], ['b'], ['c']]);
    expect(group([], now)).toEqual([]);
  });

  it('are pinned first, then in projects, then by time', () => {
    const now = new Date('2026-11-15T12:00:00');
    const at = '2026-11-15T00:00:01';
    const threads = [
      thread('a', at),
      thread('b', at, { project: 'Thesis' }),
      thread('c', at, { project: 'Essays' }),
      thread('d', at, { project: 'Thesis', isPinned: true }),
      thread('e', at, { project: 'Today' }),
    ];
    const groups = group(threads, now).map(({ label, kind, threads: members }) => [label, kind, members.map(({ id }) => id)]);
    expect(groups).toEqual([
      ['Pinned', 'pinned', ['d']],
      ['Essays', 'project', ['c']],
      ['Thesis', 'project', ['b']],
      ['Today', 'project', ['e']],
      ['Today', 'time', ['a']],
    ]);
    expect(new Set(group(threads, now).map(({ key }) => key)).size).toBe(5);
    expect(projectsOf(threads)).toEqual(['Essays', 'Thesis', 'Today']);
  });

  it('have titles of one line', () => {
    expect(titleOf(' a\n  b ')).toBe('a b');
    expect(titleOf('x'.repeat(200))).toHaveLength(80);
  });
});
