/** A call in a few words: what it is about, without opening it. */
import type { Fields } from '$lib/protocol/wire';
import { text } from '$lib/text';

const TELLING = ['file_path', 'path', 'title', 'query', 'pattern', 'question', 'url', 'description', 'text', 'input', 'file_id'];
const LONGEST = 120;

export function gistOf({ name: tool, args }: { name: string; args: Fields | null }): string {
  if (!args) return '';
  if (tool === 'write_todos' && Array.isArray(args['todos'])) return text.calls.todos(args['todos'].length);
  const name = TELLING.find((key) => typeof args[key] === 'string');
  const first = name ? args[name] : Object.values(args).find((value) => typeof value === 'string');
  return typeof first === 'string' ? first.replace(/\s+/g, ' ').slice(0, LONGEST) : '';
}

/** A tool's name in words. */
export function titleOf(name: string): string {
  const words = name.replace(/[_-]/g, ' ');
  return text.calls.titles[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** A tutor's choice of a move is told by the chip over its words. */
export function isQuiet(name: string): boolean {
  return name === 'choose_move';
}
