import { describe, expect, it } from 'vitest';
import { arePages, joinPages, pageAt, pagesOf } from './pages';

/** A random source that gives the same every time. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('joined pages', () => {
  it('begin where their text is in the stored text', () => {
    const { text, pages } = joinPages(['One.', 'Two 🐋.', 'Three.']);
    expect(text).toBe('One.\n\nTwo 🐋.\n\nThree.');
    expect(pages.map((at) => text.slice(at, at + 3))).toEqual(['One', 'Two', 'Thr']);
  });

  it('do without what the stored text does without', () => {
    const { text, pages } = joinPages(['\0\n  One\0.', 'T\0wo.\r\nMore.', 'Three.\n ']);
    expect(text).toBe('One.\n\nTwo.\nMore.\n\nThree.');
    expect(pages.map((at) => text.slice(at, at + 3))).toEqual(['One', 'Two', 'Thr']);
  });

  it('may be empty, at the beginning, in the middle and at the end', () => {
    const { text, pages } = joinPages(['', ' ', 'One.', '', 'Two.', '', '']);
    expect(text).toBe('One.\n\n\n\nTwo.');
    expect(pages).toEqual([0, 0, 0, 6, 8, text.length, text.length]);
    expect([pageAt(pages, 0), pageAt(pages, text.indexOf('Two')), pageAt(pages, text.length - 1)]).toEqual([3, 5, 5]);
  });

  it('know the page of every character', () => {
    const roll = dice(11);
    for (let round = 0; round < 300; round += 1) {
      const texts = Array.from({ length: 1 + roll(5) }, (_, page) =>
        Array.from({ length: roll(6) }, () => [String(page), ' ', '\n', '\0'][roll(4)]!).join(''),
      );
      const { text, pages } = joinPages(texts);
      expect(arePages(pages, text.length)).toBe(true);
      for (const [at, letter] of [...text].entries()) {
        if (letter.trim()) expect(pageAt(pages, at)).toBe(Number(letter) + 1);
      }
    }
  });
});

describe('pages of a part', () => {
  const pages = [0, 10, 20];

  it('are those of its first and its last character', () => {
    expect(pagesOf(pages, { start: 0, end: 10 })).toEqual({ first: 1, last: 1 });
    expect(pagesOf(pages, { start: 9, end: 11 })).toEqual({ first: 1, last: 2 });
    expect(pagesOf(pages, { start: 10, end: 11 })).toEqual({ first: 2, last: 2 });
    expect(pagesOf(pages, { start: 0, end: 99 })).toEqual({ first: 1, last: 3 });
    expect(pagesOf(pages, { start: 20, end: 20 })).toEqual({ first: 3, last: 3 });
  });

  it('are the first for what stands before it', () => {
    expect(pageAt([5, 9], 2)).toBe(1);
  });
});

it.each([
  [[0], 0, true],
  [[0, 4, 4, 9], 9, true],
  [[], 9, false],
  [[1], 9, false],
  [[0, 5, 4], 9, false],
  [[0, 10], 9, false],
  [[0, 1.5], 9, false],
  [[0, '3'], 9, false],
  [{ 0: 0 }, 9, false],
])('pages from outside: %j in %i characters', (value, length, isGood) => expect(arePages(value, length)).toBe(isGood));
