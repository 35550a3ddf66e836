/** How a quote of the person's document is cited, beside its words. */
import type { Extensions } from './registry';
import type { Citation, DocumentQuote } from './types';

/** Null where the document is not in this browser, or cannot be read. */
export async function citationOf(quote: DocumentQuote, { quoteCiters }: Pick<Extensions, 'quoteCiters'>): Promise<Citation | null> {
  const found = await Promise.all(quoteCiters.map((cite) => cite(quote).catch(() => null)));
  return found.find((citation) => citation !== null) ?? null;
}
