/** A change of a text, word by word: what stays, what goes and what comes. */
import { differences, type Range } from './differences';

export type Kind = 'same' | 'old' | 'new';

export interface Piece {
  readonly kind: Kind;
  readonly text: string;
}

/** With less in common than this part of the longer text, words between others only confuse. */
const LEAST_COMMON = 0.25;
/** Words, spaces and single punctuation marks; joined they are the text. */
const WORDS = /[\p{L}\p{N}\p{M}_]+|\s+|[^\p{L}\p{N}\p{M}_\s]/gu;

/** The pieces of a change: the same and the old ones joined are the old text, the same and the new ones the new. */
export function piecesOf(before: string, after: string): Piece[] {
  const [old, fresh] = [before.match(WORDS) ?? [], after.match(WORDS) ?? []];
  const pieces: Piece[] = [];
  const add = (kind: Kind, words: readonly string[]) => words.length && pieces.push({ kind, text: words.join('') });
  let at = 0;
  for (const [from, to, start, end] of joined(differences(old, fresh), old)) {
    add('same', old.slice(at, from));
    add('old', old.slice(from, to));
    add('new', fresh.slice(start, end));
    at = to;
  }
  add('same', old.slice(at));
  return isReadable(pieces, Math.max(before.length, after.length)) ? pieces : whole(before, after);
}

/** Changes with nothing but space between them are one change: several words became several others. */
function joined(ranges: readonly Range[], old: readonly string[]): Range[] {
  const made: Range[] = [];
  for (const range of ranges) {
    const last = made.at(-1);
    const isOne = last && old.slice(last[1], range[0]).every((word) => !word.trim());
    if (isOne) made[made.length - 1] = [last[0], range[1], last[2], range[3]];
    else made.push(range);
  }
  return made;
}

function isReadable(pieces: readonly Piece[], length: number): boolean {
  const common = pieces.reduce((sum, { kind, text }) => sum + (kind === 'same' ? text.trim().length : 0), 0);
  return common >= LEAST_COMMON * length;
}

function whole(before: string, after: string): Piece[] {
  const pieces: Piece[] = [{ kind: 'old', text: before }, { kind: 'new', text: after }];
  return pieces.filter(({ text }) => text);
}

const PROSE = /\.(?:md|markdown|txt|text|rst|adoc)$/i;

/** Whether a file is for reading, so that its changes are shown in the reading face. */
export const isProse = (path: string) => PROSE.test(path);
