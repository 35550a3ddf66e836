import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { reveal } from '../src/lib/invisible';

const vectors = join(import.meta.dirname, '..', '..', 'tests', 'unit', 'core', 'invisible.json');

it('reveals exactly the characters that the terminal reveals', () => {
  const { ranges } = JSON.parse(readFileSync(vectors, 'utf8'));
  const listed = (code) => ranges.some(([first, last]) => code >= first && code <= last);
  const wrong = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const letter = String.fromCodePoint(code);
    if (listed(code) !== (reveal(letter) !== letter)) wrong.push(code);
  }
  expect(wrong).toEqual([]);
});

it('writes the code of each', () => {
  expect(reveal('pay \u202e05\u202c now\u200b\n')).toBe('pay ⟨U+202E⟩05⟨U+202C⟩ now⟨U+200B⟩\n');
});
