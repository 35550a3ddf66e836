import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { reveal } from '../src/lib/invisible';

const vectors = join(import.meta.dirname, '..', '..', 'tests', 'unit', 'core', 'invisible.json');

it('reveals exactly the characters that the terminal reveals', () => {
  const { ranges } = JSON.parse(readFileSync(vectors, 'utf8'));
  const listed = new Uint8Array(0x110000);
  for (const [first, last] of ranges) listed.fill(1, first, last + 1);
  const wrong = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const letter = String.fromCodePoint(code);
    if (Boolean(listed[code]) !== (reveal(letter) !== letter)) wrong.push(code);
  }
  expect(wrong).toEqual([]);
});

it('writes the code of each', () => {
  expect(reveal('pay \u202e05\u202c now\u200b\n')).toBe('pay ⟨U+202E⟩05⟨U+202C⟩ now⟨U+200B⟩\n');
});
