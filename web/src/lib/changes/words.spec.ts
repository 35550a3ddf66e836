import { describe, expect, it } from 'vitest';
import { isProse, piecesOf, type Kind } from './words';

const without = (kind: Kind, before: string, after: string) =>
  piecesOf(before, after)
    .filter((piece) => piece.kind !== kind)
    .map(({ text }) => text)
    .join('');

describe('a change of words', () => {
  it('marks the words that differ, and no part of a word', () => {
    expect(piecesOf('It costs 120 euros a night.', 'It costs 150 euros a night.')).toEqual([
      { kind: 'same', text: 'It costs ' },
      { kind: 'old', text: '120' },
      { kind: 'new', text: '150' },
      { kind: 'same', text: ' euros a night.' },
    ]);
  });

  it('is one change where several words became several others', () => {
    const pieces = piecesOf('We dive slowly and late, with the whole crew.', 'We dive at first light, with the whole crew.');
    expect(pieces.map(({ kind, text }) => [kind, text])).toEqual([
      ['same', 'We dive '],
      ['old', 'slowly and late'],
      ['new', 'at first light'],
      ['same', ', with the whole crew.'],
    ]);
  });

  it('is old and new as a whole where hardly anything stays', () => {
    expect(piecesOf('Taxes are theft.', 'A state is a promise among strangers.')).toEqual([
      { kind: 'old', text: 'Taxes are theft.' },
      { kind: 'new', text: 'A state is a promise among strangers.' },
    ]);
  });

  it('is only new where there was nothing, and nothing where nothing differs', () => {
    expect(piecesOf('', 'New.')).toEqual([{ kind: 'new', text: 'New.' }]);
    expect(piecesOf('Same.', 'Same.')).toEqual([{ kind: 'same', text: 'Same.' }]);
    expect(piecesOf('', '')).toEqual([]);
  });

  it('loses no character of either text', () => {
    const texts = ['', ' ', 'a', 'a b', 'a  b\n', 'Ünïcode ‮rtl‬ 日本語。', 'x\ty\r\n', 'one two three', 'three two one', '🐟🐟 a🐟b'];
    for (const before of texts)
      for (const after of texts) {
        expect(without('new', before, after)).toBe(before);
        expect(without('old', before, after)).toBe(after);
      }
  });
});

it('shows texts in the reading face, and code not', () => {
  expect(['/a/plan.md', 'NOTES.TXT'].map(isProse)).toEqual([true, true]);
  expect(['/a/plan.py', 'Makefile', '/md'].map(isProse)).toEqual([false, false, false]);
});
