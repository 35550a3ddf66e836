/** Quotes from the person's documents, as the documents themselves locate and cite them. */
import { citationOf } from '$lib/extensions/citation';
import type { Extensions } from '$lib/extensions/registry';
import type { DocumentQuote } from '$lib/extensions/types';
import { documentOf, type DocumentSource } from './document-source';
import type { Quote, SourceInfo } from './report';

/** A quote of the passage by its place in the document; the whole passage, without its words, where there is none. */
export function documentQuote({ file, version, start, end }: DocumentSource, quote: Quote | null = null): DocumentQuote {
  const span = quote ? { start: start + quote.start, end: start + quote.end } : { start, end };
  return { file, version, unit: 'bytes', ...span, quote: quote?.text ?? '' };
}

/** The pages of a source or of a quote from it, such as `p. 3`; '' where it has none that are known here. */
export async function citedPages(source: SourceInfo, quote: Quote | null, extensions: Pick<Extensions, 'quoteCiters'>): Promise<string> {
  const place = documentOf(source.final_url);
  return (place && (await citationOf(documentQuote(place, quote), extensions))?.pages) ?? '';
}
