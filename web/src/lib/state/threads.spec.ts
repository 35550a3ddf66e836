import { describe, expect, it } from 'vitest';
import { group, titleOf, type Thread } from './threads.svelte';

const thread = (id: string, updatedAt: string): Thread => ({
  id,
  title: id,
  agent: null,
  status: 'idle',
  updatedAt: new Date(updatedAt),
  metadata: {},
});

describe('threads', () => {
  it('are grouped by when they were last used', () => {
    const now = new Date('2026-11-15T12:00:00');
    const threads = [thread('a', '2026-11-15T00:00:01'), thread('b', '2026-11-14T23:59:00'), thread('c', '2026-11-01T00:00:00')];
    expect(group(threads, now).map(({ threads: members }) => members.map(({ id }) => id))).toEqual([['a'], ['b'], ['c']]);
    expect(group([], now)).toEqual([]);
  });

  it('have titles of one line', () => {
    expect(titleOf(' a\n  b ')).toBe('a b');
    expect(titleOf('x'.repeat(200))).toHaveLength(80);
  });
});
