import { describe, expect, it } from 'vitest';
import { codeOf, isClosed, scan, Splitter } from './blocks';

const kinds = (text: string) => new Splitter().update(text).map(({ kind, text: raw }) => [kind, raw.trim()]);

describe('blocks of Markdown', () => {
  it('end at blank lines', () => {
    expect(kinds('one\n\ntwo\nthree\n\n\nfour')).toEqual([
      ['text', 'one'],
      ['text', 'two\nthree'],
      ['text', 'four'],
    ]);
  });

  it('keep a list together, with blank lines and indented lines in it', () => {
    expect(kinds('- a\n\n- b\n\n  more of b\n\nafter')).toEqual([
      ['text', '- a\n\n- b\n\n  more of b'],
      ['text', 'after'],
    ]);
  });

  it('are code between fences, also with blank lines and other fences in it', () => {
    const blocks = new Splitter().update('see\n````py\na\n\n```\nb\n````\nend');
    expect(blocks.map((block) => block.kind)).toEqual(['text', 'code', 'text']);
    expect(codeOf(blocks[1]!)).toBe('a\n\n```\nb');
    expect(blocks[1]!.language).toBe('py');
  });

  it('are code while the fence is still open', () => {
    const [block] = new Splitter().update('```js\nlet a;\nle');
    expect([block!.kind, codeOf(block!), block!.isDone]).toEqual(['code', 'let a;\nle', false]);
  });

  it('end at a closing fence that has no line end yet, not at a shorter one', () => {
    const codes = ['```js\na\n```', '````js\na\n```'].map((text) => new Splitter().update(text)[0]!);
    expect(codes.map((block) => [codeOf(block), isClosed(block)])).toEqual([['a', true], ['a\n```', false]]);
  });

  it('lose nothing', () => {
    const text = '# a\n\n* b\n* c\n\n```\nd\n```\n\n> e\n\nf';
    const words = new Splitter().update(text).map((block) => block.text).join('');
    expect(words.replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
  });

  it('come out the same however the text grew', () => {
    const random = seeded(7);
    const parts = ['word ', '\n', '\n\n', '- item\n', '```js\n', '```\n', '  indented\n', '1. one\n', '> quote\n', '# head\n', '~~~\n', 'x'.repeat(50)];
    for (let round = 0; round < 150; round += 1) {
      const pieces = Array.from({ length: 25 }, () => parts[Math.floor(random() * parts.length)]!);
      const growing = new Splitter();
      let text = '';
      for (const piece of pieces) {
        for (const letter of random() < 0.5 ? piece : [piece]) {
          text += letter;
          growing.update(text);
        }
      }
      const once = new Splitter().update(text).map(({ start, kind, text: raw }) => ({ start, kind, raw }));
      expect(growing.update(text).map(({ start, kind, text: raw }) => ({ start, kind, raw }))).toEqual(once);
    }
  });

  it('do not look again at what is finished', () => {
    const long = 'A paragraph.\n\n'.repeat(20_000);
    const splitter = new Splitter();
    splitter.update(long);
    const before = splitter.update(long)[3];
    expect(splitter.update(`${long}more`)[3]).toBe(before);
    let text = long;
    const times = Array.from({ length: 10 }, () => {
      const start = performance.now();
      for (let round = 0; round < 20; round += 1) {
        text += 'word ';
        scan(text, long.length);
      }
      return performance.now() - start;
    });
    // The fastest: whatever else the machine does, it does not slow down each of them.
    expect(Math.min(...times)).toBeLessThan(100);
  });
});

function seeded(seed: number): () => number {
  return () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
}
