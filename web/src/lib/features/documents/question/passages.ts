/** Passages of the person's documents that go with a question, as the server takes them. */
import type { Fields } from '$lib/protocol/wire';
import { sha256 } from '$lib/sha256';
import { Positions, type Span } from '../store/positions';
import type { Document } from '../store/documents';

export interface Passage {
  document: Document;
  /** In the document's text, as strings count. */
  span: Span;
  text: string;
}

export function passageOf(document: Document, { start, end }: Span): Passage {
  return { document, span: { start, end }, text: document.text.slice(start, end) };
}

/** The same words of the same document have the same key, also when the text around them has changed. */
export function keyOf({ document, text }: Passage): string {
  return `${document.id} ${sha256(text).slice(0, 16)}`;
}

/** Where a passage starts, as disclosures count. */
export function characterStart({ document, span }: Passage): number {
  return new Positions(document.text).out(span.start);
}

const hashes = new WeakMap<Document, string>();

/** Of the whole text; passages of one document ask for it again and again. */
function hashOf(document: Document): string {
  const hash = hashes.get(document) ?? sha256(document.text);
  hashes.set(document, hash);
  return hash;
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** A passage for the server: its place is counted in bytes of the document's UTF-8 text. */
export function wireOf({ document, span, text }: Passage): Fields {
  const start = bytesOf(document.text.slice(0, span.start));
  const { id: file, title } = document;
  return { file, title, version: hashOf(document), start, end: start + bytesOf(text), text };
}
