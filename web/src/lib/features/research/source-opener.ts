/** Opens a source: a passage of the person's document in the document, anything else as it was read. */
import type { Extensions } from '$lib/extensions/registry';
import type { DocumentQuote, QuoteOutcome } from '$lib/extensions/types';
import type { AppState } from '$lib/state/app.svelte';
import { documentQuote } from './document-quote';
import { documentOf, type DocumentSource } from './document-source';
import type { Quote, SourceInfo } from './report';
import { useSourceReader } from './source-reader.svelte';
import { researchText as text } from './text';

export type SourceOpener = (source: SourceInfo, quote?: Quote | null) => Promise<void>;

export function sourceOpener(app: AppState, { quoteOpeners }: Pick<Extensions, 'quoteOpeners'>): SourceOpener {
  const reading = useSourceReader();

  /** What became of it; null where the document has never been in this browser. */
  async function openDocument(quote: DocumentQuote): Promise<QuoteOutcome | null> {
    try {
      const [outcome] = await Promise.all(quoteOpeners.map((open) => open(quote)));
      return outcome ?? null;
    } catch {
      return null;
    }
  }

  return async (source, quote = null) => {
    const thread = app.conversation.id;
    const place = documentOf(source.final_url);
    const outcome = place && (await openDocument(await quoteWithWords(app, thread, source.id, place, quote)));
    if (outcome === 'shown') return app.layout.show('documents');
    reading.open(thread, source, quote, outcome ? text.document[outcome] : '');
    app.layout.show('sources');
  };
}

/** The words of a whole passage are needed where its document has changed. */
async function quoteWithWords(
  app: AppState,
  thread: string,
  source: string,
  place: DocumentSource,
  quote: Quote | null,
): Promise<DocumentQuote> {
  if (quote) return documentQuote(place, quote);
  const stored = await useSourceReader().text(app.api, thread, source).catch(() => null);
  return { ...documentQuote(place), quote: stored?.text ?? '' };
}
