/** How passages of documents are cited. */
import type { Citation, DocumentQuote } from '$lib/extensions/types';
import type { DocumentRow } from './store/database';
import { pagesOf } from './store/pages';
import type { Span } from './store/positions';
import { useShelf } from './store/shelf.svelte';
import { filesText } from './text';

/** Such as `p. 3`; '' for a document without pages. */
export function citedPages({ pages }: Pick<DocumentRow, 'pages'>, span: Span): string {
  if (!pages) return '';
  const { first, last } = pagesOf(pages, span);
  return filesText.pages.cited(first, last);
}

/** Null for a document that is not in this browser. */
export async function cite({ file, ...quote }: DocumentQuote): Promise<Citation | null> {
  const shelf = useShelf();
  const row = await shelf.documents.db.documents.get(file);
  if (!row) return null;
  // Without pages the text, which may be long, is not needed.
  const span = row.pages ? (await shelf.locate(file, quote)).span : null;
  return { title: row.title, pages: span ? citedPages(row, span) : '' };
}
