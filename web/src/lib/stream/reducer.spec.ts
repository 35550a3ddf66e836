import { describe, expect, it } from 'vitest';
import tour from '../../../tests/fixtures/tour.json';
import type { WireEvent } from '$lib/protocol/wire';
import { reduce, viewOf } from './reducer';
import { turnsOf } from './turns';
import { emptyView, newMessage, ROOT, type View } from './view';
import { withAgent } from './view-updates';

const TOUR = tour as unknown as WireEvent[];
const all = (events: readonly WireEvent[], from: View = emptyView()) => events.reduce(reduce, from);
let count = 0;

function event(method: string, data: unknown, namespace: string[] = [], node?: string): WireEvent {
  count += 1;
  const params = { namespace, timestamp: count, data, ...(node ? { node } : {}) };
  return { type: 'event', seq: count, event_id: String(count), method, params };
}

const started = (run = 'r1') => event('lifecycle', { event: 'started', run_id: run, graph_name: 'simple' });
const ended = (how: string, run = 'r1', more = {}) => event('lifecycle', { event: how, run_id: run, ...more });
const begin = (id: string) => event('messages', { event: 'message-start', message_id: id, role: 'ai', id });
const words = (id: string, text: string) =>
  event('messages', { event: 'content-block-delta', message_id: id, index: 0, delta: { type: 'text-delta', text } });
const finished = (id: string) => event('messages', { event: 'message-finish', message_id: id });
const values = (messages: unknown[], more = {}) => event('values', { messages, ...more });
const human = (id: string, content = id) => ({ type: 'human', id, content });
const ai = (id: string, content: string, tool_calls: unknown[] = []) => ({ type: 'ai', id, content, tool_calls });
const texts = (view: View) => view.agents[ROOT]!.messages.map(({ text }) => text);

describe('a recorded run', () => {
  const view = all(TOUR);

  it('shows its messages, calls, plan and question', () => {
    expect(view.status).toBe('interrupted');
    expect(view.agents[ROOT]!.messages.map(({ role }) => role)).toEqual(['human', 'ai', 'ai', 'ai', 'ai']);
    expect(Object.values(view.calls).map(({ name, status }) => [name, status])).toEqual([
      ['write_todos', 'done'],
      ['write_file', 'done'],
      ['read_file', 'done'],
      ['ask_user', 'waiting'],
    ]);
    expect(view.questions.map(({ type, callId }) => [type, callId])).toEqual([['clarification_request', 'tour_ask']]);
    expect(view.agents[ROOT]!.values['todos']).toHaveLength(4);
  });

  it('is the same when events come again', () => {
    const twice = TOUR.flatMap((one) => [one, one]);
    const again = all(twice);
    expect(again.agents).toEqual(view.agents);
    expect(again.calls).toEqual(view.calls);
    expect(again.questions).toEqual(view.questions);
  });

  it('ends the same wherever a reader began, given the state that was there', () => {
    const last = TOUR.findLast(({ method }) => method === 'values')!;
    for (let cut = 0; cut < TOUR.length; cut += 7) {
      const seen = all([...TOUR.slice(cut), last]);
      expect(texts(seen)).toEqual(texts(view));
    }
  });

  it('knows where a message can be sent again', () => {
    const input = TOUR.find(({ method }) => method === 'checkpoints')!.params.data as { id: string };
    expect(view.before).toEqual({ h1: input.id });
  });

  it('is one turn', () => {
    expect(turnsOf(view.agents[ROOT]!.messages).map(({ answers }) => answers.length)).toEqual([4]);
  });
});

describe('messages', () => {
  it('grow by their pieces and settle by the state', () => {
    const growing = all([started(), begin('a'), words('a', 'Hel'), words('a', 'lo')]);
    expect(growing.agents[ROOT]!.messages).toMatchObject([{ text: 'Hello', isOpen: true }]);
    const settled = all([finished('a'), values([human('h'), ai('a', 'Hello')])], growing);
    expect(settled.agents[ROOT]!.messages).toMatchObject([{ text: 'h' }, { text: 'Hello', isOpen: false }]);
  });

  it('that are unchanged stay the same objects, so that nothing is drawn again', () => {
    const one = all([values([human('h'), ai('a', 'Hello')])]);
    const two = reduce(one, values([human('h'), ai('a', 'Hello')]));
    expect(two.agents[ROOT]!.messages).toBe(one.agents[ROOT]!.messages);
  });

  it.each([7, 'words', null, [1]])('of a function that returned %j are none, and its value is shown', (returned) => {
    const view = all([event('values', returned)]);
    expect(texts(view)).toEqual([]);
    expect(view.agents[ROOT]!.values).toEqual({ value: returned });
  });

  it('of a branch that was left are gone', () => {
    const view = all([values([human('h1'), ai('a', 'one')]), values([human('h2')])]);
    expect(texts(view)).toEqual(['h2']);
  });

  it('that were sent from here stay until the state has them, and are not doubled', () => {
    const sent = withAgent(all([values([human('h1')])]), [], (agent) => ({
      ...agent,
      messages: [...agent.messages, newMessage('h2', 'human', { text: 'h2', isPending: true })],
    }));
    expect(texts(reduce(sent, values([human('h1')])))).toEqual(['h1', 'h2']);
    expect(texts(reduce(sent, values([human('h1'), human('h2')])))).toEqual(['h1', 'h2']);
  });

  it('that were cut off stay where they were, as what they are', () => {
    const stopped = all([started(), values([human('h1')]), begin('a'), words('a', 'Hal'), finished('a'), ended('interrupted')]);
    expect(stopped.status).toBe('idle');
    const later = all([started('r2'), values([human('h1'), human('h2')])], stopped);
    expect(later.agents[ROOT]!.messages).toMatchObject([{ text: 'h1' }, { text: 'Hal', isCut: true }, { text: 'h2' }]);
  });

  it('that were cut off and are in the state are shown once', () => {
    const kept = { ...ai('a', 'Half'), response_metadata: { stopped: true } };
    const run = [started(), values([human('h1')]), begin('a'), words('a', 'Hal'), finished('a'), ended('interrupted')];
    const once = [{ text: 'h1' }, { text: 'Half', isCut: true, isOpen: false }];
    const live = all(run);
    expect(all([values([human('h1'), kept])], live).agents[ROOT]!.messages).toMatchObject(once);
    const reloaded = all([values([human('h1'), kept])]);
    expect(all([begin('a'), words('a', 'Hal'), finished('a'), ended('interrupted')], reloaded).agents[ROOT]!.messages).toMatchObject(once);
    const next = all([started('r2'), values([human('h1'), kept, human('h2')])], live);
    expect(next.agents[ROOT]!.messages).toMatchObject([...once, { text: 'h2' }]);
  });

  it('of a planner or an auditor are not spoken', () => {
    const data = { event: 'message-start', message_id: 'x', role: 'ai', id: 'x' };
    expect(texts(all([started(), event('messages', data, [], 'thinker')]))).toEqual([]);
    expect(texts(all([started(), event('messages', data, [], 'model')]))).toEqual(['']);
  });
});

describe('tools', () => {
  const call = { type: 'tool_call', id: 'c1', name: 'look', args: { depth: 3 } };
  const asked = [
    started(),
    begin('a'),
    event('messages', { event: 'content-block-start', message_id: 'a', index: 0, content: { ...call, type: 'tool_call_chunk', args: '' } }),
    event('messages', { event: 'content-block-delta', message_id: 'a', index: 0, delta: { type: 'block-delta', fields: { args: '{"dep' } } }),
  ];
  const called = event('messages', { event: 'content-block-finish', message_id: 'a', index: 0, content: call });

  it('are seen while their arguments are written', () => {
    expect(Object.values(all(asked).calls)).toMatchObject([{ status: 'writing', argsText: '{"dep', name: 'look' }]);
  });

  it('run, and give a result or an error', () => {
    const running = all([called, event('tools', { event: 'tool-started', tool_call_id: 'c1' })], all(asked));
    expect(Object.values(running.calls)).toMatchObject([{ status: 'running', args: { depth: 3 } }]);
    const done = reduce(running, event('tools', { event: 'tool-finished', tool_call_id: 'c1', output: { content: 'dark' } }));
    expect(Object.values(done.calls)).toMatchObject([{ status: 'done', result: 'dark' }]);
    const failed = reduce(running, event('tools', { event: 'tool-error', tool_call_id: 'c1', message: 'no light' }));
    expect(Object.values(failed.calls)).toMatchObject([{ status: 'failed', result: 'no light' }]);
  });

  it('of two turns under one id are two calls', () => {
    const tool = (content: string) => ({ type: 'tool', id: content, tool_call_id: 'c1', content });
    const view = all([
      values([ai('a', '', [{ ...call }]), tool('one'), ai('b', '', [{ ...call }]), tool('two')]),
    ]);
    expect(Object.values(view.calls).map(({ result }) => result)).toEqual(['one', 'two']);
  });

  it('that had not ended when their run did are stopped', () => {
    const view = all([called, event('tools', { event: 'tool-started', tool_call_id: 'c1' }), ended('interrupted')], all(asked));
    expect(Object.values(view.calls)).toMatchObject([{ status: 'stopped' }]);
  });
});

describe('questions', () => {
  const ask = (id: string, namespace: string[] = []) =>
    event('input.requested', { interrupt_id: id, payload: { type: 'tool_approval', tool_call_id: `c-${id}` } }, namespace);

  it('of all agents are open together, each once, until a run goes on', () => {
    const waiting = all([started(), ask('q1'), ask('q2', ['tools:1']), ask('q1'), ended('interrupted')]);
    expect(waiting.questions.map(({ id, namespace }) => [id, namespace.length])).toEqual([['q1', 0], ['q2', 1]]);
    expect(waiting.status).toBe('interrupted');
    expect(reduce(waiting, started('r2')).questions).toEqual([]);
  });

  it('are in a state that is read whole', () => {
    const view = viewOf({
      values: { messages: [] },
      next: ['tools'],
      checkpoint: { checkpoint_id: 'c', checkpoint_ns: '' },
      parent_checkpoint: null,
      metadata: {},
      tasks: [],
      interrupts: [{ id: 'q', value: { type: 'tool', tool_call: { id: 'c9', name: 'x', args: {} } } }],
    });
    expect([view.status, view.questions[0]?.callId, view.checkpoint]).toEqual(['interrupted', 'c9', 'c']);
  });
});

describe('runs', () => {
  it('that fail say why', () => {
    const view = all([started(), ended('failed', 'r1', { error: 'the model is unavailable' })]);
    expect([view.status, view.error]).toEqual(['failed', 'the model is unavailable']);
    expect(reduce(view, started('r2')).error).toBeNull();
  });

  it('show subagents by the call that sent them out', () => {
    const place = ['tools:1'];
    const cause = { type: 'toolCall', tool_call_id: 'c7' };
    const view = all([
      started(),
      event('lifecycle', { event: 'started', run_id: 'r1', cause }, place),
      event('messages', { event: 'message-start', message_id: 's', role: 'ai', id: 's' }, place, 'model'),
      event('messages', { event: 'content-block-delta', message_id: 's', index: 0, delta: { type: 'text-delta', text: 'down' } }, place, 'model'),
    ]);
    expect(view.agents['tools:1']).toMatchObject({ callId: 'c7', status: 'running', messages: [{ text: 'down' }] });
    expect(texts(view)).toEqual([]);
  });

  it('of a kind that is not known change nothing', () => {
    const view = emptyView();
    expect(reduce(view, event('something.new', { a: 1 }))).toBe(view);
  });
});

describe('what the state says of a call or a message', () => {
  const called = ai('a', 'May I?', [{ id: 'c', name: 'write_file', args: { file_path: '/a' } }]);
  const tool = (more: object) => ({ type: 'tool', id: 't', tool_call_id: 'c', content: 'For the model.', ...more });
  const statusOf = (view: View) => Object.values(view.calls).map(({ status }) => status);

  it('that a new message ended is set aside, not failed', () => {
    const unfinished = tool({ status: 'error', additional_kwargs: { unfinished: true } });
    const live = all([started(), values([human('h'), called]), ended('interrupted'), started('r2')]);
    expect(statusOf(all([values([human('h'), called, unfinished])], live))).toEqual(['stopped']);
    expect(statusOf(all([values([human('h'), called, unfinished])]))).toEqual(['aside']);
    expect(statusOf(all([values([human('h'), called, tool({ status: 'error' })])]))).toEqual(['failed']);
  });

  it('that asked the person has their words', () => {
    const asked = ai('a', '', [{ id: 'c', name: 'ask_user', args: { question: 'Which?' } }]);
    const done = all([started(), values([human('h'), asked]), event('tools', { event: 'tool-finished', tool_call_id: 'c', output: 'This' })]);
    const answered = all([values([human('h'), asked, tool({ additional_kwargs: { answer: 'This' } })])], done);
    expect(Object.values(answered.calls)).toMatchObject([{ status: 'done', answer: 'This' }]);
  });

  it('has what the person decided about its changes, and nothing that is not a decision', () => {
    const made = { type: 'approve', tool_call_id: 'x', name: 'edit_file', path: '/a.md', added: 2, removed: 1 };
    const wires = [made, { ...made, type: 'reject', added: null }, { ...made, type: 'other' }, { type: 'approve' }, 'approve'];
    const view = all([values([human('h'), called, tool({ additional_kwargs: { decisions: wires } })])]);
    const decision = { type: 'approve', callId: 'x', tool: 'edit_file', path: '/a.md', lines: { added: 2, removed: 1 } };
    expect(Object.values(view.calls)[0]!.decisions).toEqual([decision, { ...decision, type: 'reject', lines: null }]);
    expect(all([values([human('h'), called, tool({ additional_kwargs: { decisions: 'all' } })])]).calls['a c']?.decisions).toEqual([]);
  });

  it('has what became of a proposed document', () => {
    const proposal = (mark: unknown) =>
      Object.values(all([values([human('h'), called, tool({ additional_kwargs: { proposal: mark } })])]).calls)[0]!.proposal;
    expect(proposal({ status: 'partly', file_id: 'doc-1', version: 'v' })).toEqual({ status: 'partly', fileId: 'doc-1', version: 'v' });
    expect(proposal({ status: 'refused', file_id: null })).toEqual({ status: 'refused', fileId: null, version: null });
    expect(proposal({ status: 'eaten' })).toBeNull();
    expect(proposal('applied')).toBeNull();
  });

  it('that was stopped is marked so, after a reload too', () => {
    const stopped = { ...ai('a', 'Half an ans'), additional_kwargs: { stopped: true } };
    const view = all([values([human('h'), stopped])]);
    expect(view.agents[ROOT]!.messages.at(-1)).toMatchObject({ text: 'Half an ans', isCut: true, isSettled: true });
    expect(all([values([human('h'), stopped])], view).agents[ROOT]!.messages.at(-1)).toBe(view.agents[ROOT]!.messages.at(-1));
  });
});

describe('the end of a run that waited behind another', () => {
  it('does not end the one at work', () => {
    const view = all([started('r1'), begin('a'), words('a', 'Hal'), ended('interrupted', 'r2')]);
    expect([view.status, view.runId, view.agents[ROOT]!.messages[0]!.isOpen]).toEqual(['running', 'r1', true]);
    expect(all([ended('interrupted', 'r1')], view).status).toBe('idle');
  });
});

describe('an answer that flow control marked', () => {
  it('has the links that no model put together, and others have none', () => {
    const mark = { flow: { known_links: ['https://a.example/'] } };
    const view = all([values([human('h1'), { ...ai('m1', 'hi'), response_metadata: mark }, ai('m2', 'ho')])]);
    expect(view.agents[ROOT]!.messages.map(({ knownLinks }) => knownLinks)).toEqual([null, ['https://a.example/'], null]);
  });
});
