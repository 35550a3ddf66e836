import { describe, expect, it } from 'vitest';
import { asArgdown, asMarkdown } from './export';
import { linesOf } from './image';
import type { ArgumentMap, MapNode } from './map';
import { nodeIdOf } from './node-id';

const node = (id: string, kind: MapNode['kind'], text: string, author = 'tutor') => ({ id, kind, text, author, source: {} });
const map: ArgumentMap = {
  nodes: {
    a: node('a', 'claim', 'Money is trust.', 'person'),
    b: node('b', 'premise', 'Paper has no [use] of {its} own, see #3 & @[x].'),
    c: node('c', 'objection', 'Gold <b>was</b> money: https://example.org/*a* == b === c \\ 1/2 _so_'),
    d: node('d', 'reply', 'Its price\nis not its use.'),
    e: node('e', 'claim', 'Forgotten.'),
  },
  relations: {
    'b supports a': { origin: 'b', kind: 'supports', target: 'a' },
    'c attacks a': { origin: 'c', kind: 'attacks', target: 'a' },
    'd answers c': { origin: 'd', kind: 'answers', target: 'c' },
  },
  decisions: {
    a: { status: 'accepted', revision: 1 },
    c: { status: 'accepted', revision: 1 },
    e: { status: 'refused', revision: 1 },
  },
};

describe('the map as a file', () => {
  it('is Argdown, with every sign escaped that has a meaning there', () => {
    expect(asArgdown(map)).toBe(String.raw`# Argument map

[Claim 1]: Money is trust.
  + [Premise 1]
  - [Objection 1]

[Premise 1]: Paper has no \[use\] of \{its\} own, see \#3 & \@\[x\].

[Objection 1]: Gold \<b\>was\</b\> money: https:\/\/example.org\/\*a\* \=\= b \=\=\= c \\ 1/2 \_so\_
  - [Reply 1]

[Reply 1]: Its price is not its use.
`);
  });

  it('is Markdown: what bears on a point under it, who said it, and what the person decided', () => {
    expect(asMarkdown(map)).toBe(String.raw`# Argument map

- **Claim:** Money is trust. (you; held)
  - **Premise, supports:** Paper has no \[use\] of {its} own, see \#3 & @\[x\]. (Tutor; proposed)
  - **Objection, attacks:** Gold \<b\>was\</b\> money: https://example.org/\*a\* == b === c \\ 1/2 \_so\_ (Tutor; worth answering)
    - **Reply, answers:** Its price is not its use. (Tutor; proposed)
`);
  });

  it('is an image whose lines fit their boxes, and say when they are cut', () => {
    const fits = (line: string) => line.length <= 9;
    expect(linesOf('one two three four', fits)).toEqual(['one two', 'three', 'four']);
    expect(linesOf('one two three four five six seven eight nine', fits)).toEqual(['one two', 'three', 'four five', 'six seven…']);
  });
});

// What Python's `node_id_of` gives for the same words.
it.each([
  ['claim', 'Money is trust.', 'claim-a0d4b680'],
  ['premise', '  Stra\u00dfe\u2003und\x1f\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3  \ufb01n ', 'premise-f0d8576c'],
  ['reply', '\u0131I \u0130 \u13f8\u13a0 \u0390', 'reply-72eb2e9e'],
] as const)('gives a %s the id that the server gives it', (kind, words, id) => {
  expect(nodeIdOf(kind, words)).toBe(id);
});
