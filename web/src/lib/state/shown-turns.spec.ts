import { describe, expect, it } from 'vitest';
import { ShownTurns } from './shown-turns.svelte';

describe('the turns that are drawn', () => {
  it('are all of a short conversation', () => {
    const shown = new ShownTurns();
    shown.open('a', 20);
    expect(shown.hiddenOf(20)).toBe(0);
  });

  it('are the last of a long one, and more on the way back', () => {
    const shown = new ShownTurns();
    shown.open('a', 0); // still loading
    shown.open('a', 1_000);
    expect(shown.hiddenOf(1_000)).toBe(980);
    shown.earlier();
    expect(shown.hiddenOf(1_000)).toBe(960);
    shown.from(13);
    expect(shown.hiddenOf(1_000)).toBe(13);
    shown.from(500);
    expect(shown.hiddenOf(1_000)).toBe(13);
    shown.earlier();
    expect(shown.hiddenOf(1_000)).toBe(0);
  });

  it('stay when something is added, and are the last ones again in another conversation', () => {
    const shown = new ShownTurns();
    shown.open('a', 30);
    shown.open('a', 31);
    expect(shown.hiddenOf(31)).toBe(10);
    shown.open('b', 50);
    expect(shown.hiddenOf(50)).toBe(30);
    shown.open('a', 31);
    expect(shown.hiddenOf(31)).toBe(11);
  });

  it('are one at least, where an earlier version is shorter', () => {
    const shown = new ShownTurns();
    shown.open('a', 100);
    expect(shown.hiddenOf(5)).toBe(4);
    expect(shown.hiddenOf(0)).toBe(0);
  });
});
