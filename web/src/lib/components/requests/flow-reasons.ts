/**
 * Why an agent asks before it acts, as sentences for a person who has never heard of flow control.
 * The terminal writes the same ones; `tests/unit/flow/sentences.json` has examples of all.
 */
import type { DocumentQuote } from '$lib/extensions/types';
import { reveal } from '$lib/invisible';
import type { Fields, Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import { flowText as words } from './flow-text';

export interface FlowSource {
  /** What an approval trusts it by; null where it cannot be trusted. */
  id: string | null;
  /** The source in words, such as “the web page https://x.example”. */
  name: string;
  line: number | null;
  /** The passage in three parts: the value is in the middle. */
  passage: [before: string, value: string, after: string];
  /** Where it stands in a document of the person. */
  document: DocumentQuote | null;
}

export interface FlowReason {
  why: string;
  /** All of the value, with invisible characters shown; null where the reason is about the call. */
  value: string | null;
  /** The sentence, without the value. */
  text: string;
  source: FlowSource | null;
}

export const MAX_VALUE = 80;
const MAX_ABOUT = 80;

/** The reasons in a request; none for one that has nothing to do with what was read. */
export function flowReasons(payload: Json): FlowReason[] {
  const flow = isFields(payload) && isFields(payload['flow']) ? payload['flow'] : {};
  return (Array.isArray(flow['reasons']) ? flow['reasons'] : []).filter(isFields).map(reasonOf);
}

/** The sources that an approval can trust, each once. */
export function sourcesToTrust(reasons: readonly FlowReason[]): { id: string; name: string }[] {
  const named = reasons.flatMap(({ source }) => (source?.id ? [[source.id, source.name] as const] : []));
  return [...new Map(named)].map(([id, name]) => ({ id, name }));
}

/** The beginning of a text that is too long; letters of two units stay whole. */
export function shortened(text: string, most = MAX_VALUE): string {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most).join('')}…`;
}

/** A reason as one sentence, as the terminal shows it. */
export function sentenceOf({ value, text }: FlowReason): string {
  return value === null ? text : `${shortened(value)} — ${text}`;
}

function reasonOf(reason: Fields): FlowReason {
  const why = String(reason['why']);
  const source = isFields(reason['source']) ? sourceOf(reason['source']) : null;
  const whole = words.whole[why];
  if (whole !== undefined) return { why, value: null, text: whole, source };
  const text = why === 'query' ? words.sent : explanation(nounOf(reason), source, reason['said'] === true);
  return { why, value: shown(reason['value'] ?? null), text, source };
}

function explanation(noun: string, source: FlowSource | null, isSaid: boolean): string {
  if (source) return (isSaid ? words.readAndSaid : words.read)(noun, placeOf(source));
  return (isSaid ? words.said : words.nowhere)(noun);
}

export function placeOf({ name, line }: FlowSource): string {
  return line === null ? name : words.line(name, line);
}

function sourceOf(source: Fields): FlowSource {
  const excerpt = reveal(String(source['excerpt'] ?? ''));
  const document = isFields(source['document']) ? source['document'] : null;
  return {
    id: typeof source['id'] === 'string' ? source['id'] : null,
    name: nameOf(source, document),
    line: typeof source['line'] === 'number' ? source['line'] : null,
    passage: marked(excerpt, reveal(String(source['found'] ?? ''))),
    document: document && quoteOf(document),
  };
}

function nameOf(source: Fields, document: Fields | null): string {
  const about = shortened(reveal(String(source['about'] ?? '')), MAX_ABOUT);
  const tool = reveal(String(source['tool'] ?? ''));
  if (document) return words.document(shortened(reveal(String(document['title'])), MAX_ABOUT));
  const known = Object.hasOwn(words.places, tool) ? words.places[tool] : undefined;
  return known ? known(about) : words.result(tool.replace(/[_-]/g, ' '), about);
}

function marked(excerpt: string, found: string): FlowSource['passage'] {
  const at = found ? excerpt.indexOf(found) : -1;
  return at < 0 ? [excerpt, '', ''] : [excerpt.slice(0, at), found, excerpt.slice(at + found.length)];
}

function quoteOf(document: Fields): DocumentQuote {
  return {
    file: String(document['file']),
    version: '', // not known: the words are looked for
    start: Number(document['start']),
    end: Number(document['end']),
    quote: String(document['quote']),
  };
}

function nounOf(reason: Fields): string {
  const kind = String(reason['kind'] ?? '');
  if (kind.startsWith('id:')) return words.kind(reveal(kind.slice('id:'.length)));
  return (Object.hasOwn(words.nouns, kind) ? words.nouns[kind] : undefined) ?? words.argument(reveal(String(reason['arg'])));
}

/** A value as text, written as the terminal writes it. */
function shown(value: Json): string {
  return reveal(typeof value === 'string' ? value : json(value));
}

function json(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(json).join(', ')}]`;
  if (!isFields(value)) return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${json(inner)}`).join(', ')}}`;
}
