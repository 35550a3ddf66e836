import { describe, expect, it } from 'vitest';
import { wellFormed } from '../store/positions';
import { CHUNK, chunksOf } from './chunks';
import { TextIndex } from './text-index';

/** Texts of every kind, the same every time: words, very long words, spaces, emoji, line ends. */
function* texts(count: number): Generator<string> {
  let state = 11;
  const roll = (below: number) => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) % below;
  const piece = [
    () => 'word ',
    () => 'x'.repeat(roll(3_000)),
    () => ' '.repeat(roll(900)),
    () => '🐋'.repeat(roll(700)),
    () => '\n\n',
    () => 'It ends. Does it?\n',
    () => `https://example.org/${'a'.repeat(900)} `,
  ];
  for (let round = 0; round < count; round += 1) {
    let text = '';
    for (let left = roll(40); left > 0; left -= 1) text += piece[roll(piece.length)]!();
    yield text;
  }
}

describe('chunks', () => {
  it('end on any text, leave no word out, go forward and are never too long', () => {
    for (const text of texts(200)) {
      const chunks = chunksOf(text);
      const isIn = new Uint8Array(text.length);
      for (const { start, end } of chunks) isIn.fill(1, start, end);
      const isGood = chunks.every(
        ({ start, end }, index) =>
          start > (chunks[index - 1]?.start ?? -1) &&
          end > start &&
          end - start <= CHUNK &&
          wellFormed(text.slice(start, end)) === text.slice(start, end),
      );
      expect(isGood).toBe(true);
      expect([...text.matchAll(/\S/g)].every(({ index }) => isIn[index] === 1)).toBe(true);
      expect(chunks.length).toBeLessThanOrEqual(Math.ceil(text.length / 150) + 1);
    }
  });

  it('overlap, so that a sentence at a border is in one of them', () => {
    const text = Array.from({ length: 60 }, (_, n) => `Sentence ${n} is here.`).join(' ');
    const chunks = chunksOf(text);
    expect(chunks.length).toBeGreaterThan(2);
    for (let n = 0; n < 60; n += 1) {
      expect(chunks.some(({ start, end }) => text.slice(start, end).includes(`Sentence ${n} is here.`))).toBe(true);
    }
  });
});

describe('the index', () => {
  const document = (id: string, text: string, title = id) => ({ id, title, text, version: text });

  it('finds the span that has the words, best first', async () => {
    const index = new TextIndex();
    const filler = 'Nothing of note was said about any other thing on that day. '.repeat(20);
    await index.update([document('a', `${filler}The anglerfish carries a lantern. ${filler}`), document('b', filler)]);
    const [best] = index.search('lantern of an anglerfish', 8);
    expect(best).toMatchObject({ documentId: 'a' });
    expect(`${filler}The anglerfish carries a lantern. ${filler}`.slice(best!.start, best!.end)).toContain('lantern');
  });

  it('follows changes, new titles and removals', async () => {
    const index = new TextIndex();
    await index.update([document('a', 'squid'), document('b', 'crab')]);
    await index.update([document('a', 'krill'), document('b', 'crab', 'shells')]);
    expect(index.search('squid', 8)).toEqual([]);
    expect(index.search('krill', 8)).toHaveLength(1);
    expect(index.search('shells', 8)).toHaveLength(1);
    await index.update([]);
    expect(index.size).toBe(0);
  });

  it('completes what is being typed, for a person', async () => {
    const index = new TextIndex();
    await index.update([document('a', 'The anglerfish')]);
    expect(index.search('angl', 8)).toEqual([]);
    expect(index.search('angl', 8, { isTyping: true })).toHaveLength(1);
  });
});
