/** What was said in a conversation, without the machinery: for people, other editors and programs. */
import { saidIn } from '$lib/stream/said';
import { roleOf, textOf } from '$lib/stream/state-messages';
import type { MessageWire } from '$lib/protocol/wire';
import { text } from './text';

/** Characters of an export at most; what is longer would stall the page. */
const MOST = 20_000_000;
const ASKING = ['ask_user', 'ask_choices'];

export interface Entry {
  role: 'person' | 'agent';
  text: string;
}

export interface Transcript {
  title: string;
  agent: string;
  entries: Entry[];
}

export function entriesOf(messages: readonly MessageWire[]): Entry[] {
  return messages.flatMap(saidBy).filter((entry) => entry.text.trim() !== '');
}

function saidBy(wire: MessageWire): Entry[] {
  if (wire.additional_kwargs?.['lc_source'] !== undefined) return [];
  if (wire.type === 'tool') {
    const { answer } = saidIn(wire);
    return answer === null ? [] : [{ role: 'person', text: answer }];
  }
  const role = roleOf(wire.type);
  if (role === 'system') return [];
  if (role === 'human') return [{ role: 'person', text: textOf(wire.content) }];
  const asked = (wire.tool_calls ?? []).filter(({ name }) => ASKING.includes(name)).map(({ args }) => String(args['question'] ?? ''));
  return [{ role: 'agent', text: [textOf(wire.content), ...asked].filter(Boolean).join('\n\n') }];
}

export function asMarkdown({ title, agent, entries }: Transcript, now: Date): string {
  const head = `# ${oneLine(title)}\n\n*${oneLine(agent)}, ${now.toISOString().slice(0, 10)}*\n`;
  const parts = entries.map((entry) => `\n## ${entry.role === 'person' ? text.you : oneLine(agent)}\n\n${entry.text.trim()}\n`);
  return head + parts.join('');
}

export function asJson({ title, agent, entries }: Transcript, now: Date): string {
  return `${JSON.stringify({ title, agent, exported_at: now.toISOString(), messages: entries }, null, 2)}\n`;
}

/** Throws a sentence for the person where there is nothing to export, or too much. */
export function checkSize(entries: readonly Entry[]): void {
  if (!entries.length) throw new Error(text.empty);
  if (entries.reduce((sum, entry) => sum + entry.text.length, 0) > MOST) throw new Error(text.tooLong);
}

/** A file name from a title: letters and digits of any script, no signs that a system gives a meaning. */
export function fileName(title: string, extension: string): string {
  const name = title.normalize('NFC').replace(/[^\p{L}\p{M}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '');
  return `${name.slice(0, 80) || 'conversation'}.${extension}`;
}

const oneLine = (words: string) => words.replace(/\s+/g, ' ').trim();
