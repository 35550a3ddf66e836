/** Several calls in one sentence: "Read essay.md, added 4 points to the map". */
import { capitalized, number } from '$lib/format';
import type { Call } from '$lib/stream/view';
import { text, type Action } from '$lib/text';
import { gistOf, titleOf } from './gist';

const LONGEST_NAME = 60;

export function summaryOf(calls: readonly Call[]): string {
  const tools = [...byTool(calls)];
  const done = tools.filter(([, own]) => !isUnderWay(own)).map(([name, own]) => phrase(name, own, 'did'));
  const underWay = tools.filter(([, own]) => isUnderWay(own)).map(([name, own]) => phrase(name, own, 'does'));
  return capitalized([...done, ...underWay].join(', ')) + (underWay.length ? '…' : '');
}

export function isUnderWay(calls: readonly Call[]): boolean {
  return calls.some(({ status }) => status !== 'done');
}

function byTool(calls: readonly Call[]): Map<string, Call[]> {
  const tools = new Map<string, Call[]>();
  for (const call of calls) tools.set(call.name, [...(tools.get(call.name) ?? []), call]);
  return tools;
}

function phrase(tool: string, calls: readonly Call[], tense: 'did' | 'does'): string {
  const action = text.calls.actions[tool];
  const { other, phrase: sentence } = text.calls;
  if (!action) return sentence(other[tense], titleOf(tool), calls.length > 1 ? text.calls.times(calls.length) : '');
  if (!action.things) return sentence(action[tense], '', times(calls.length));
  return sentence(action[tense], thingsOf(action, action.things, calls), action.where ?? '');
}

function thingsOf(action: Action, [one, many]: readonly [string, string], calls: readonly Call[]): string {
  const names = action.isNamed ? calls.map((call) => gistOf(call)) : [];
  const known = new Set(names.filter(Boolean));
  // A file that is read in three parts is one file; each call without a name is about another.
  const count = known.size + calls.length - names.filter(Boolean).length;
  if (count > 1) return `${number(count)} ${many}`;
  const [name] = known;
  return name ? text.calls.named(shortName(name)) : one;
}

function times(count: number): string {
  if (count < 2) return '';
  return count === 2 ? text.calls.twice : text.calls.times(count);
}

/** The last part of a path. */
function shortName(path: string): string {
  const name = path.split('/').findLast(Boolean) ?? path;
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}
