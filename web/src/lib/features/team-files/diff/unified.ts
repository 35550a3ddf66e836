/** A unified difference, as servers write it, read into lines that can be shown. */
import { piecesOf, type Kind, type Piece } from '$lib/changes/words';

export interface Line {
  readonly kind: Kind;
  readonly text: string;
  /** Its number in the old text and in the new; null where it is not there. */
  readonly from: number | null;
  readonly to: number | null;
  /** The line in pieces, where it takes the place of another; otherwise one piece. */
  readonly pieces: readonly Piece[];
}

export interface Difference {
  readonly hunks: readonly (readonly Line[])[];
  readonly added: number;
  readonly removed: number;
  /** The server did not send all of it. */
  readonly isCut: boolean;
}

const HEAD = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;
const CUT = '[diff truncated]';
const KINDS: Record<string, Kind> = { ' ': 'same', '-': 'old', '+': 'new' };

export function differenceOf(diff: string): Difference {
  const hunks: Line[][] = [];
  const isCut = diff.trimEnd().endsWith(CUT);
  const lines = (isCut ? diff.slice(0, diff.lastIndexOf(CUT)).trimEnd() : diff).split('\n');
  let [from, to] = [0, 0];
  for (const line of lines) {
    const head = HEAD.exec(line);
    const kind = KINDS[line.charAt(0)];
    if (head) {
      [from, to] = [Number(head[1]), Number(head[2])];
      hunks.push([]);
    } else if (kind && hunks.length) {
      const text = line.slice(1).replace(/\r$/, '');
      hunks.at(-1)!.push({
        kind,
        text,
        from: kind === 'new' ? null : from++,
        to: kind === 'old' ? null : to++,
        pieces: [{ kind: 'same', text }],
      });
    }
  }
  const all = hunks.flat();
  return {
    hunks: hunks.map(marked),
    added: all.filter(({ kind }) => kind === 'new').length,
    removed: all.filter(({ kind }) => kind === 'old').length,
    isCut,
  };
}

/** The first lines of a difference, in their hunks. */
export function firstLines(hunks: Difference['hunks'], most: number): Difference['hunks'] {
  const shown: (readonly Line[])[] = [];
  let room = most;
  for (const hunk of hunks) {
    if (room <= 0) break;
    shown.push(hunk.length > room ? hunk.slice(0, room) : hunk);
    room -= hunk.length;
  }
  return shown;
}

export interface Passage {
  readonly isChanged: boolean;
  readonly before: string;
  readonly after: string;
}

/** The lines of a hunk as passages to read: unchanged ones, and changed ones with what they were. */
export function passagesOf(lines: readonly Line[]): Passage[] {
  const passages: Passage[] = [];
  for (let start = 0; start < lines.length; ) {
    const isChanged = lines[start]!.kind !== 'same';
    let end = start;
    while (end < lines.length && (lines[end]!.kind !== 'same') === isChanged) end += 1;
    const run = lines.slice(start, end);
    const without = (kind: Kind) => run.filter((line) => line.kind !== kind).map(({ text }) => text).join('\n');
    passages.push({ isChanged, before: without('new'), after: without('old') });
    start = end;
  }
  return passages;
}

/** Lines that take the place of as many others, with what differs in each marked. */
function marked(lines: readonly Line[]): Line[] {
  const made = [...lines];
  for (let start = 0; start < made.length; start += 1) {
    if (made[start]!.kind !== 'old') continue;
    const old = countFrom(made, start, 'old');
    const fresh = countFrom(made, start + old, 'new');
    if (old === fresh) {
      for (let at = start; at < start + old; at += 1) {
        const [a, b] = [made[at]!, made[at + old]!];
        const pieces = piecesOf(a.text, b.text);
        if (!pieces.some(({ kind }) => kind === 'same')) continue; // nothing of it stays: all of it is the difference
        made[at] = { ...a, pieces: pieces.filter(({ kind }) => kind !== 'new') };
        made[at + old] = { ...b, pieces: pieces.filter(({ kind }) => kind !== 'old') };
      }
    }
    start += old + fresh - 1;
  }
  return made;
}

function countFrom(lines: readonly Line[], start: number, kind: Kind): number {
  let end = start;
  while (lines[end]?.kind === kind) end += 1;
  return end - start;
}
