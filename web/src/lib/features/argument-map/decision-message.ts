/** Decisions in the person's words, to be said in the conversation. */
import type { ArgumentMap, Decision } from './map';
import { mapText as text } from './text';

const WORDS = { accepted: text.stand, refused: text.refuseWords, proposed: text.openWords };

export function decisionMessageOf(map: ArgumentMap, decisions: Record<string, Decision>): string {
  return Object.entries(decisions)
    .filter(([id]) => id in map.nodes)
    .map(([id, { status, reason }]) => {
      const words = WORDS[status](text.quoted(map.nodes[id]!.text));
      return reason ? text.because(words, reason) : words;
    })
    .join('\n');
}
