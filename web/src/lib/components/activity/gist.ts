/** A call in a few words: what it is about, without opening it. */
import type { Call } from '$lib/stream/view';
import { text } from '$lib/text';

const TELLING = ['file_path', 'path', 'title', 'query', 'pattern', 'question', 'url', 'description', 'text', 'input', 'file_id'];
const LONGEST = 120;

export function gistOf(call: Call): string {
  if (!call.args) return '';
  if (call.name === 'write_todos' && Array.isArray(call.args['todos'])) {
    return text.calls.todos(call.args['todos'].length);
  }
  const name = TELLING.find((key) => typeof call.args![key] === 'string');
  const first = name ? call.args[name] : Object.values(call.args).find((value) => typeof value === 'string');
  return typeof first === 'string' ? first.replace(/\s+/g, ' ').slice(0, LONGEST) : '';
}

/** A tool's name in words. */
export function titleOf(name: string): string {
  const words = name.replace(/_/g, ' ');
  return text.calls.titles[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}
