/**
 * A change in parts: what differs between two texts, and the text that a choice of parts makes.
 *
 * Parts are whole lines. Where a text has paragraphs in one long line, as prose often has, they are
 * sentences: a person wants to take one of them without the others.
 */
import { differences } from '$lib/changes/differences';

const LONG_LINE = 160;

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

function sentences(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(/(?=\S)(?<=[.!?…]["'”’»)\]]*[^\S\n]+)/u));
}
