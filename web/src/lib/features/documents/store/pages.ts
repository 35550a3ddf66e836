/** Where the pages of a document begin in its text. Only what came from a PDF has pages. */
import type { Span } from './positions';

const BETWEEN = '\n\n';

/** Numbers of pages, from 1. */
export interface PageRange {
  first: number;
  last: number;
}

/** The texts of pages as one text, trimmed, and the position of each page's beginning in it. */
export function joinPages(texts: readonly string[]): { text: string; pages: number[] } {
  const clean = texts.map((page) => page.replaceAll('\0', '').replace(/\r\n?/g, '\n'));
  const whole = clean.join(BETWEEN);
  const text = whole.trim();
  let at = whole.trimStart().length - whole.length;
  const pages = clean.map((page) => {
    const start = Math.min(Math.max(at, 0), text.length);
    at += page.length + BETWEEN.length;
    return start;
  });
  return { text, pages };
}

/** The page of a position. Of pages that begin there, all but the last are empty. */
export function pageAt(pages: readonly number[], at: number): number {
  return Math.max(1, pages.findLastIndex((start) => start <= at) + 1);
}

export function pagesOf(pages: readonly number[], { start, end }: Span): PageRange {
  return { first: pageAt(pages, start), last: pageAt(pages, Math.max(start, end - 1)) };
}

/** Whether a value from outside says where the pages of a text of this length begin. */
export function arePages(value: unknown, length: number): value is number[] {
  if (!Array.isArray(value) || value[0] !== 0) return false;
  return value.every((start, index) => Number.isInteger(start) && start >= (value[index - 1] ?? 0) && start <= length);
}
