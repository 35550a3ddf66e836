/** A unified difference, as servers write it, read into lines that can be shown. */
export type Kind = 'same' | 'old' | 'new';

export interface Line {
  readonly kind: Kind;
  readonly text: string;
  /** Its number in the old text and in the new; null where it is not there. */
  readonly from: number | null;
  readonly to: number | null;
  /** Where the line differs from the one it takes the place of. */
  readonly mark: readonly [start: number, end: number] | null;
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
      hunks.at(-1)!.push({
        kind,
        text: line.slice(1).replace(/\r$/, ''),
        from: kind === 'new' ? null : from++,
        to: kind === 'old' ? null : to++,
        mark: null,
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
        const [head, tail] = common(a.text, b.text);
        if (head + tail === 0) continue; // nothing of it stays: all of it is the difference
        made[at] = { ...a, mark: [head, a.text.length - tail] };
        made[at + old] = { ...b, mark: [head, b.text.length - tail] };
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

function common(a: string, b: string): [head: number, tail: number] {
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < most - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  return [head, tail];
}
