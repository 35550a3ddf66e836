/** A passage with the words that were looked for, around the first of them. */
export interface Mark {
  text: string;
  isFound: boolean;
}

const BEFORE = 60;
const MOST = 240;

export function marksOf(passage: string, words: readonly string[]): Mark[] {
  const escaped = words.filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (!escaped.length) return [{ text: passage.slice(0, MOST), isFound: false }];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${escaped.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
  const first = passage.search(pattern);
  const from = first > BEFORE ? passage.indexOf(' ', first - BEFORE) + 1 : 0;
  const shown = (from > 0 ? '…' : '') + passage.slice(from, from + MOST).trim();
  return shown
    .split(pattern)
    .map((text, index) => ({ text, isFound: index % 2 === 1 }))
    .filter(({ text }) => text !== '');
}
