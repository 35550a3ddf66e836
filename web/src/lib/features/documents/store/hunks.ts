/**
 * A change in parts: what differs between two texts, and the text that a choice of parts makes.
 *
 * Parts are whole lines. Where a text has paragraphs in one long line, as prose often has, they are
 * sentences: a person wants to take one of them without the others.
 */
const LONG_LINE = 160;
/** More pairs than this are not compared one by one: the change is then one part. */
const MOST_PAIRS = 4_000_000;

export interface Hunk {
  /** Where in the old text it stands. */
  readonly start: number;
  readonly old: string;
  readonly new: string;
}

/** The lines of a text, each with its end; joined they are the text. */
export function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** The parts of a change, in order; something that stays is between two of them. */
export function hunksOf(before: string, after: string): Hunk[] {
  const lines = [linesOf(before), linesOf(after)] as const;
  const isLong = lines.some((text) => text.some((line) => line.length > LONG_LINE));
  const [old, fresh] = isLong ? [sentences(lines[0]), sentences(lines[1])] : lines;
  const starts = [0];
  for (const piece of old) starts.push(starts.at(-1)! + piece.length);
  return differences(old, fresh).map(([from, to, start, end]) => ({
    start: starts[from]!,
    old: old.slice(from, to).join(''),
    new: fresh.slice(start, end).join(''),
  }));
}

/** The text with the chosen replacement for each hunk; null keeps the old text. */
export function chosen(before: string, hunks: readonly Hunk[], texts: readonly (string | null)[]): string {
  let at = 0;
  let made = '';
  for (const [index, hunk] of hunks.entries()) {
    made += before.slice(at, hunk.start) + (texts[index] ?? hunk.old);
    at = hunk.start + hunk.old.length;
  }
  return made + before.slice(at);
}

type Range = [from: number, to: number, start: number, end: number];

/** Where two lists differ: pieces `from` to `to` of the one became `start` to `end` of the other. */
function differences(old: string[], fresh: string[]): Range[] {
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  const most = Math.min(old.length, fresh.length) - head;
  while (tail < most && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const a = old.slice(head, old.length - tail);
  const b = fresh.slice(head, fresh.length - tail);
  if (!a.length && !b.length) return [];
  if (a.length * b.length > MOST_PAIRS) return [[head, head + a.length, head, head + b.length]];
  return gaps(a, b).map(([from, to, start, end]) => [from + head, to + head, start + head, end + head]);
}

/** The gaps between the pieces that two lists have in common, in the longest such run. */
function gaps(a: string[], b: string[]): Range[] {
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const found: Range[] = [];
  let [i, j, from, start] = [0, 0, 0, 0];
  const close = () => (i > from || j > start) && found.push([from, i, start, j]);
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      close();
      [i, j] = [i + 1, j + 1];
      [from, start] = [i, j];
    } else if (longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!) i += 1;
    else j += 1;
  }
  [i, j] = [a.length, b.length];
  close();
  return found;
}

function sentences(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(/(?=\S)(?<=[.!?…]["'”’»)\]]*[^\S\n]+)/u));
}
