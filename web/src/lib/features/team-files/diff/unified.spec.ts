import { describe, expect, it } from 'vitest';
import { differenceOf, passagesOf } from './unified';

const EDIT = ['--- /plan.md', '+++ /plan.md', '@@ -3,3 +3,4 @@', ' dive', '-slowly down', '+quickly down', '+and up', ' rest', ''].join('\n');

describe('a unified difference', () => {
  it('has lines with their numbers in both texts', () => {
    const { hunks, added, removed, isCut } = differenceOf(EDIT);
    expect(hunks.flat().map(({ kind, text, from, to }) => [kind, text, from, to])).toEqual([
      ['same', 'dive', 3, 3],
      ['old', 'slowly down', 4, null],
      ['new', 'quickly down', null, 4],
      ['new', 'and up', null, 5],
      ['same', 'rest', 5, 6],
    ]);
    expect([added, removed, isCut]).toEqual([2, 1, false]);
  });

  it('marks what differs where a line takes the place of one', () => {
    const diff = '--- /a\n+++ /a\n@@ -1 +1 @@\n-a small fish\n+a large fish\n';
    const marks = differenceOf(diff).hunks.flat().map(({ pieces }) => pieces.filter(({ kind }) => kind !== 'same').map(({ text }) => text));
    expect(marks).toEqual([['small'], ['large']]);
  });

  it('is read as passages, unchanged ones and those with what they were', () => {
    expect(differenceOf(EDIT).hunks.flatMap(passagesOf)).toEqual([
      { isChanged: false, before: 'dive', after: 'dive' },
      { isChanged: true, before: 'slowly down', after: 'quickly down\nand up' },
      { isChanged: false, before: 'rest', after: 'rest' },
    ]);
  });

  it('keeps lines that look like heads, and says when it is cut', () => {
    const diff = '--- /dev/null\n+++ /a\n@@ -0,0 +1,2 @@\n+--- x\n+@@ -1 +1 @@\n\n[diff truncated]\n';
    const { hunks, isCut } = differenceOf(diff);
    expect(hunks.flat().map(({ text }) => text)).toEqual(['--- x', '@@ -1 +1 @@']);
    expect(isCut).toBe(true);
  });

  it('is empty for what is no difference of texts', () => {
    expect(differenceOf('/a.png: 10 bytes → 20 bytes').hunks).toEqual([]);
    expect(differenceOf('').hunks).toEqual([]);
  });
});
