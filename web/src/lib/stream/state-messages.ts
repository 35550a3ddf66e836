/** Messages as the thread's state has them: the truth that replaces what was pieced together. */
import type { Fields, Json, MessageWire, ToolCallWire } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import { isSaid, saidIn } from './said';
import { addCall, agentKey, newCall, withAgent, withCall } from './view-updates';
import { newMessage, type Agent, type CallStatus, type Message, type Role, type View } from './view';

/** Put a state's messages in place. What is being written, or was cut off, stays where it was. */
export function settleMessages(view: View, namespace: readonly string[], wires: readonly MessageWire[]): View {
  const old = view.agents[agentKey(namespace)];
  const known = new Map(old?.messages.map((message) => [message.id, message]) ?? []);
  const list: Message[] = [];
  for (const [index, wire] of wires.entries()) {
    if (wire.type === 'tool') {
      view = settleResult(view, namespace, wire);
      continue;
    }
    const id = wire.id ?? `${namespace.join('|')}#${index}`;
    view = settleCalls(view, namespace, id, wire.tool_calls ?? []);
    list.push(settled(known.get(id), id, wire));
  }
  const messages = keepLoose(list, old);
  return withAgent(view, namespace, (agent) => (same(agent.messages, messages) ? agent : { ...agent, messages }));
}

function settled(old: Message | undefined, id: string, wire: MessageWire): Message {
  const text = textOf(wire.content);
  const calls = (wire.tool_calls ?? []).map((call) => `${id} ${call.id}`);
  const model = wire.response_metadata?.['model_name'];
  const next = newMessage(id, roleOf(wire.type), {
    isSettled: true,
    isCut: isStopped(wire),
    text,
    reasoning: reasoningOf(wire) || old?.reasoning || '',
    calls,
    usage: wire.usage_metadata ?? old?.usage ?? null,
    model: typeof model === 'string' ? model : (old?.model ?? null),
    name: wire.name ?? null,
    knownLinks: knownLinksOf(wire),
  });
  return old && isSame(old, next) ? old : next;
}

/** The mark of flow control on an answer, see docs/flow.md. */
function knownLinksOf(wire: MessageWire): string[] | null {
  const mark = wire.response_metadata?.['flow'];
  const links = mark && typeof mark === 'object' && 'known_links' in mark ? mark.known_links : null;
  return Array.isArray(links) ? links.filter((link): link is string => typeof link === 'string') : null;
}

function settleCalls(view: View, namespace: readonly string[], messageId: string, calls: ToolCallWire[]): View {
  for (const { id, name, args } of calls) {
    const known = view.calls[`${messageId} ${id}`];
    if (known?.args) continue;
    const status = known && known.status !== 'writing' ? known.status : 'waiting';
    view = addCall(view, namespace, newCall(messageId, id, { ...known, name, args, status }));
  }
  return view;
}

function settleResult(view: View, namespace: readonly string[], wire: MessageWire): View {
  const key = view.latest[`${agentKey(namespace)} ${wire.tool_call_id ?? ''}`];
  const call = key === undefined ? undefined : view.calls[key];
  if (!call) return view;
  const said = saidIn(wire);
  const status = statusOf(call.status, wire);
  if (status === call.status && isSaid(call, said)) return view;
  return withCall(view, { ...call, ...said, status, result: call.result ?? textOf(wire.content) });
}

/** A call that ended keeps how; one that a new message ended did not fail. */
function statusOf(known: CallStatus, wire: MessageWire): CallStatus {
  if (known === 'done' || known === 'failed' || known === 'aside') return known;
  if (wire.additional_kwargs?.['unfinished'] === true) return known === 'stopped' ? known : 'aside';
  return wire.status === 'error' ? 'failed' : 'done';
}

/** Keep messages that no state has had yet after the neighbour they had. */
function keepLoose(list: Message[], old: Agent | undefined): Message[] {
  const present = new Set(list.map((message) => message.id));
  const messages = old?.messages ?? [];
  for (const [index, message] of messages.entries()) {
    if (present.has(message.id) || !(message.isOpen || message.isPending || message.isCut)) continue;
    const before = messages.slice(0, index).findLast((other) => present.has(other.id));
    const place = before ? list.findIndex((other) => other.id === before.id) + 1 : list.length;
    list.splice(message.isCut ? place : list.length, 0, message);
    present.add(message.id);
  }
  return list;
}

function same(a: readonly Message[], b: readonly Message[]): boolean {
  return a.length === b.length && a.every((message, index) => message === b[index]);
}

function isSame(a: Message, b: Message): boolean {
  return (
    a.text === b.text &&
    a.reasoning === b.reasoning &&
    a.role === b.role &&
    a.isSettled &&
    !a.isOpen &&
    !a.isPending &&
    a.isCut === b.isCut &&
    a.model === b.model &&
    a.name === b.name &&
    a.knownLinks?.join() === b.knownLinks?.join() &&
    a.usage?.total_tokens === b.usage?.total_tokens &&
    a.calls.join() === b.calls.join()
  );
}

/** The part of an answer that was there when its run was stopped. */
function isStopped({ additional_kwargs: more, response_metadata: metadata }: MessageWire): boolean {
  return more?.['stopped'] === true || metadata?.['stopped'] === true;
}

export function roleOf(type: string): Role {
  if (type === 'human' || type === 'user') return 'human';
  return type === 'system' ? 'system' : 'ai';
}

/** The text of a message's content, whatever form it has. */
export function textOf(content: Json | Fields[] | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block) => {
      if (typeof block === 'string') return block;
      const text = isFields(block) && block['type'] === 'text' ? block['text'] : '';
      return typeof text === 'string' ? text : '';
    })
    .join('');
}

function reasoningOf(wire: MessageWire): string {
  if (!Array.isArray(wire.content)) {
    const told = wire.additional_kwargs?.['reasoning_content'];
    return typeof told === 'string' ? told : '';
  }
  return wire.content
    .map((block) => block['reasoning'] ?? block['thinking'] ?? '')
    .filter((words): words is string => typeof words === 'string')
    .join('');
}
