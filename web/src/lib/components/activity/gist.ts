/** A call in a few words: what it is about, without opening it. */
import { capitalized } from '$lib/format';
import type { Fields } from '$lib/protocol/wire';
import type { Call } from '$lib/stream/view';
import { text } from '$lib/text';

const TELLING = ['file_path', 'path', 'title', 'query', 'pattern', 'question', 'url', 'description', 'text', 'input', 'file_id'];
const LONGEST = 120;

/** Documents have titles; their ids mean nothing to a person. */
const DOCUMENT_ID = /^doc-[0-9a-f]+$/;

type Named = { name: string; args: Fields | null; result?: string | null };

export function gistOf({ name: tool, args, result = null }: Named): string {
  if (!args) return '';
  if (tool === 'write_todos' && Array.isArray(args['todos'])) return text.calls.todos(args['todos'].length);
  const name = TELLING.find((key) => typeof args[key] === 'string');
  const first = name ? args[name] : Object.values(args).find((value) => typeof value === 'string');
  if (typeof first === 'string' && DOCUMENT_ID.test(first)) return titleIn(result);
  return typeof first === 'string' ? first.replace(/\s+/g, ' ').slice(0, LONGEST) : '';
}

/** The title of the document that a call was about, from its result; '' where it does not say. */
function titleIn(result: string | null): string {
  return result?.match(/"title":\s*"((?:[^"\\]|\\.)*)"/)?.[1]?.replace(/\\(.)/g, '$1') ?? '';
}

/** A tool's name in words. */
export function titleOf(name: string): string {
  const words = name.replace(/[_-]/g, ' ');
  return text.calls.titles[name] ?? capitalized(words);
}

/** A tutor's choice of a move is told by the chip over its words. */
export function isQuiet(name: string): boolean {
  return name === 'choose_move';
}

export function isAsking(name: string): boolean {
  return name === 'ask_user' || name === 'ask_choices';
}

/** What a call asks the person; null for one that does not, or that was not put to them. */
export function questionOf({ name, args, status, answer }: Call): string | null {
  const question = args?.['question'];
  const isAsked = answer !== null || status === 'waiting' || status === 'aside' || status === 'stopped';
  return isAsking(name) && isAsked && typeof question === 'string' ? question : null;
}
