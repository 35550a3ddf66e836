/** A source's text in pieces, with quotes marked where their bytes are. */
import type { Quote } from './report';

export interface Piece {
  text: string;
  /** The quote that stands here; null between quotes. */
  quote: string | null;
}

/** Offsets count bytes of UTF-8. Of quotes that overlap the chosen one is marked, then the first. */
export function piecesOf(text: string, quotes: readonly Quote[], chosen: string | null): Piece[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const pieces: Piece[] = [];
  let at = 0;
  const take = (end: number, quote: string | null) => {
    if (end > at) pieces.push({ text: decoder.decode(bytes.subarray(at, end)), quote });
    at = Math.max(at, end);
  };
  for (const quote of apart(quotes, chosen)) {
    take(quote.start, null);
    take(quote.end, quote.id);
  }
  take(bytes.length, null);
  return pieces;
}

function apart(quotes: readonly Quote[], chosen: string | null): Quote[] {
  const byPlace = quotes.toSorted((a, b) => a.start - b.start || a.end - b.end);
  const first = byPlace.filter((quote) => quote.id === chosen);
  const kept: Quote[] = [];
  for (const quote of [...first, ...byPlace]) {
    if (kept.every((other) => quote.end <= other.start || quote.start >= other.end)) kept.push(quote);
  }
  return kept.sort((a, b) => a.start - b.start);
}
