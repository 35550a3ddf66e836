/** What stands before and after a part, so that it can be judged: a line or so. */
import { linesOf, type Hunk } from '../store/hunks';

const MOST = 160;

export function around(before: string, hunk: Hunk): { above: string; below: string } {
  const above = linesOf(before.slice(0, hunk.start)).at(-1)?.replace(/\n$/, '') ?? '';
  const below = linesOf(before.slice(hunk.start + hunk.old.length))[0]?.replace(/\n$/, '') ?? '';
  return {
    above: above.length > MOST ? `…${above.slice(-MOST)}` : above,
    below: below.length > MOST ? `${below.slice(0, MOST)}…` : below,
  };
}
