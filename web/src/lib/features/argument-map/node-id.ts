/** The id of a node, as the server derives it from kind and text: `node_id_of` in `bathysphere.argument.map`. */
import { sha256 } from '$lib/sha256';
import type { Kind } from './map';

export const MAX_TEXT = 600;

/** One statement on one line. */
export function normalized(text: string): string {
  // Python counts some control characters as white space.
  return text.replace(/[\s\x1c-\x1f\x85]+/g, ' ').trim();
}

export function nodeIdOf(kind: Kind, text: string): string {
  return `${kind}-${sha256(casefold(normalized(text))).slice(0, 8)}`;
}

/** Python's `str.casefold`: letter by letter, so that a final sigma is a sigma; ı and Cherokee are its exceptions. */
function casefold(text: string): string {
  return Array.from(text, (letter) => {
    if (letter === 'ı') return letter;
    const upper = letter.toUpperCase();
    return /\p{Script=Cherokee}/u.test(letter) ? upper : upper.toLowerCase();
  }).join('');
}
