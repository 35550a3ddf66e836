import { describe, expect, it } from 'vitest';
import { capitalized, plural, size } from './format';

describe('plural', () => {
  it('counts one thing, none and many', () => {
    expect(plural(1, 'entry', 'entries')).toBe('1 entry');
    expect(plural(0, 'entry', 'entries')).toBe('0 entries');
    expect(plural(1234, 'entry', 'entries')).toBe(`${(1234).toLocaleString()} entries`);
  });
});

describe('size', () => {
  it('takes the unit that keeps the number short', () => {
    expect([999, 1000, 1_500_000, 2_000_000_000].map(size)).toEqual(['999 B', '1.0 kB', '1.5 MB', '2.0 GB']);
  });
});

describe('capitalized', () => {
  it('begins a sentence, and leaves nothing as it is', () => {
    expect(capitalized('create one')).toBe('Create one');
    expect(capitalized('')).toBe('');
  });
});
