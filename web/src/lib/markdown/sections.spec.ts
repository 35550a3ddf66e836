import { describe, expect, it } from 'vitest';
import { Splitter } from './blocks';
import { Sections } from './sections';

const paragraphs = (count: number) => Array.from({ length: count }, (_, n) => `Paragraph ${n}.`).join('\n\n');

describe('the sections of a text', () => {
  it('hold every block once and in order', () => {
    const blocks = new Splitter().update(paragraphs(20));
    const sections = new Sections().update(blocks);
    expect(sections.flat()).toEqual(blocks);
    expect(sections.map((section) => section.length)).toEqual([8, 8, 4]);
    expect(new Sections().update([])).toEqual([]);
  });

  it('stay the same while the text grows, but for the last', () => {
    const splitter = new Splitter();
    const sections = new Sections();
    const text = paragraphs(20);
    const before = sections.update(splitter.update(text));
    const after = sections.update(splitter.update(`${text} More.`));
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
    expect(after[2]).not.toBe(before[2]);
    expect(after[2]!.at(-1)!.text).toBe('Paragraph 19. More.');
  });

  it('are others when another text begins', () => {
    const splitter = new Splitter();
    const sections = new Sections();
    const [before] = sections.update(splitter.update(paragraphs(10)));
    const [after] = sections.update(splitter.update('Something else.'));
    expect(after).not.toBe(before);
    expect(after!.map((block) => block.text)).toEqual(['Something else.']);
  });
});
