import { describe, expect, it } from 'vitest';
import type { MessageWire } from '$lib/protocol/wire';
import { isLocal } from './shares.svelte';
import { asJson, asMarkdown, checkSize, entriesOf, fileName } from './transcript';

const NOW = new Date('2026-11-17T12:00:00Z');
const MESSAGES = [
  { type: 'system', id: 's', content: 'secret rules' },
  { type: 'human', id: 'h', content: 'How deep?' },
  { type: 'human', id: 'x', content: 'a summary', additional_kwargs: { lc_source: 'summarization' } },
  {
    type: 'ai',
    id: 'a',
    content: [{ type: 'text', text: 'Let me ask.' }, { type: 'reasoning', reasoning: 'hidden' }],
    tool_calls: [
      { id: 'c1', name: 'ask_user', args: { question: 'Which sea?' } },
      { id: 'c2', name: 'read_user_file', args: { path: 'plan.md' } },
    ],
  },
  { type: 'tool', id: 't1', tool_call_id: 'c1', content: 'raw', additional_kwargs: { answer: 'The North Sea' } },
  { type: 'tool', id: 't2', tool_call_id: 'c2', content: 'the text of plan.md' },
  { type: 'ai', id: 'b', content: '  ' },
  { type: 'ai', id: 'c', content: '**725 m**' },
] as unknown as MessageWire[];

describe('a transcript', () => {
  const entries = entriesOf(MESSAGES);
  const transcript = { title: 'Depths\nof seas', agent: 'Assistant', entries };

  it('has what was said, questions and answers included, and no machinery', () => {
    expect(entries).toEqual([
      { role: 'person', text: 'How deep?' },
      { role: 'agent', text: 'Let me ask.\n\nWhich sea?' },
      { role: 'person', text: 'The North Sea' },
      { role: 'agent', text: '**725 m**' },
    ]);
  });

  it('is Markdown with a heading for each', () => {
    expect(asMarkdown(transcript, NOW)).toBe(
      '# Depths of seas\n\n*Assistant, 2026-11-17*\n\n## You\n\nHow deep?\n\n## Assistant\n\nLet me ask.\n\nWhich sea?\n' +
        '\n## You\n\nThe North Sea\n\n## Assistant\n\n**725 m**\n',
    );
  });

  it('is JSON', () => {
    const { title, exported_at, messages } = JSON.parse(asJson(transcript, NOW));
    expect([title, exported_at, messages]).toEqual(['Depths\nof seas', '2026-11-17T12:00:00.000Z', entries]);
  });

  it('is refused when it is empty or endless', () => {
    expect(() => checkSize([])).toThrow('nothing to export');
    expect(() => checkSize([{ role: 'agent', text: 'x'.repeat(20_000_001) }])).toThrow('too long');
    checkSize(entries);
  });

  it('has a file name that every system takes', () => {
    expect(fileName('../Über: “whales”? \u202e*', 'md')).toBe('Über-whales.md');
    expect(fileName('深海', 'json')).toBe('深海.json');
    expect(fileName('///', 'md')).toBe('conversation.md');
  });
});

it('tells addresses of this computer from others', () => {
  expect(['localhost', '127.0.0.1', '[::1]', 'example.org', '10.0.0.1'].map(isLocal)).toEqual([true, true, true, false, false]);
});
