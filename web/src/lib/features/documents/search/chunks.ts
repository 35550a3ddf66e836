/**
 * A text in overlapping pieces of about 500 characters, cut where a paragraph, a sentence or a word
 * ends. Every piece begins after the one before it, so it comes to an end on any text.
 */
export const CHUNK = 500;
export const OVERLAP = 80;
const SHORTEST = 250;

export interface Chunk {
  start: number;
  end: number;
}

export function chunksOf(text: string): Chunk[] {
  const chunks: Chunk[] = [];
  let start = afterSpace(text, 0);
  while (start < text.length) {
    const end = cut(text, start);
    if (text.slice(start, end).trim() !== '') chunks.push({ start, end });
    if (end >= text.length) break;
    start = nextStart(text, start, end);
  }
  return chunks;
}

function cut(text: string, start: number): number {
  const limit = whole(text, start + CHUNK);
  if (limit >= text.length) return text.length;
  const window = text.slice(start, limit);
  for (const end of [/\n\s*\n/g, /[.!?…]["'”’»)\]]*\s/g, /\s/g]) {
    const at = lastEnd(window, end);
    if (at >= SHORTEST) return start + at;
  }
  return limit;
}

function lastEnd(window: string, pattern: RegExp): number {
  let at = -1;
  for (const found of window.matchAll(pattern)) at = found.index + found[0].length;
  return at;
}

/** A little before the end, where a word begins; never at or before the last start. */
function nextStart(text: string, start: number, end: number): number {
  const from = Math.max(start + 1, end - OVERLAP);
  const space = text.slice(from, end).search(/\s\S/);
  return space < 0 ? end : from + space + 1;
}

function afterSpace(text: string, start: number): number {
  const found = text.slice(start).search(/\S/);
  return found < 0 ? text.length : start + found;
}

/** Not between the halves of a character. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
