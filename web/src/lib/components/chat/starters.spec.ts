import { describe, expect, it } from 'vitest';
import { startersFor } from './starters';

describe('the first words that are offered', () => {
  it('can be answered by the sample pages where no model is set up', () => {
    const words = startersFor('research', true).map((starter) => starter.words);
    expect(words.length).toBeGreaterThan(0);
    for (const one of words) expect(one).toContain('bathysphere');
  });

  it('are about the world where a model answers', () => {
    const words = startersFor('research', false).map((starter) => starter.words);
    expect(words.length).toBeGreaterThan(0);
    for (const one of words) expect(one).not.toContain('bathysphere');
  });

  it('are the same for other agents with and without a model', () => {
    expect(startersFor('tutor', true)).toEqual(startersFor('tutor', false));
  });
});
