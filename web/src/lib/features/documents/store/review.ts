/** A person going through a change part by part. */
import { chosen, hunksOf, type Hunk } from './hunks';
import type { Proposal, Verdict } from './proposals';

export interface Part {
  readonly hunk: Hunk;
  /** null: not decided yet. */
  readonly isTaken: boolean | null;
  /** What shall stand there; the person may change it. */
  readonly text: string;
  readonly reason: string;
}

export function partsOf({ before, after }: Proposal): Part[] {
  return hunksOf(before ?? '', after).map((hunk) => ({ hunk, isTaken: null, text: hunk.new, reason: '' }));
}

export function isDecided(parts: readonly Part[]): boolean {
  return parts.every((part) => part.isTaken !== null);
}

/** What the person made of it; parts that are not decided are not taken. */
export function verdictOf(proposal: Proposal, parts: readonly Part[], reason = ''): Verdict {
  const refused = parts
    .filter((part) => !part.isTaken)
    .map((part) => ({ text: part.hunk.new === '' ? part.hunk.old : part.hunk.new, reason: part.reason }));
  const isNothing = parts.length > 0 && parts.every((part) => !part.isTaken);
  const hunks = parts.map((part) => part.hunk);
  const texts = parts.map((part) => (part.isTaken ? part.text : null));
  return { text: isNothing ? null : chosen(proposal.before ?? '', hunks, texts), refused, reason };
}
