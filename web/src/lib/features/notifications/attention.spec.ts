import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Attention, type News } from './attention';

type Status = 'busy' | 'idle' | 'interrupted' | 'error';

describe('attention', () => {
  let told: [string, News][];
  let isHidden: boolean;
  let attention: Attention;
  const see = (statuses: Record<string, Status>) => attention.see(Object.entries(statuses).map(([id, status]) => ({ id, status })));

  beforeEach(() => {
    vi.useFakeTimers();
    told = [];
    isHidden = true;
    attention = new Attention({ isHidden: () => isHidden, ontell: (id, news) => told.push([id, news]) });
  });
  afterEach(() => vi.useRealTimers());

  it.each([['idle', 'done'], ['interrupted', 'waiting'], ['error', 'failed']] as const)('tells that a run became %s, once', (status, news) => {
    see({ a: 'busy', b: 'idle' });
    see({ a: status, b: 'idle' });
    see({ a: status, b: 'idle' });
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual([['a', news]]);
  });

  it('tells nothing of what it finds at the start', () => {
    see({ a: 'interrupted', b: 'idle', c: 'error' });
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual([]);
  });

  it('tells nothing while the page is looked at', () => {
    isHidden = false;
    see({ a: 'busy' });
    see({ a: 'idle' });
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual([]);
  });

  it('does not tell of a pause that the page answers itself', () => {
    see({ a: 'busy' });
    see({ a: 'interrupted' });
    vi.advanceTimersByTime(500);
    see({ a: 'busy' });
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual([]);
    see({ a: 'idle' });
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual([['a', 'done']]);
  });

  it('tells nothing any more when the person is back in time', () => {
    see({ a: 'busy' });
    see({ a: 'idle' });
    attention.clear();
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual([]);
  });

  it('expects news as long as an agent works', () => {
    see({ a: 'busy' });
    expect(attention.isExpecting).toBe(true);
    see({ a: 'idle' });
    vi.advanceTimersByTime(10_000);
    expect(attention.isExpecting).toBe(false);
  });
});
