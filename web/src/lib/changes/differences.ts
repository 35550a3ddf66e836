/** Where two lists of pieces (lines, sentences or words) differ. */

/** More pairs than this are not compared one by one: the change is then one range. */
const MOST_PAIRS = 4_000_000;

export type Range = [from: number, to: number, start: number, end: number];

/** Where two lists differ: pieces `from` to `to` of the one became `start` to `end` of the other. */
export function differences(old: readonly string[], fresh: readonly string[]): Range[] {
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
function gaps(a: readonly string[], b: readonly string[]): Range[] {
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
