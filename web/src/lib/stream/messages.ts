/** A message while it is being written: start, blocks, deltas, finish. */
import type { BlockWire, DeltaWire, Fields, MessageData } from '$lib/protocol/wire';
import { addCall, newCall, withAgent, withCall, withMessage } from './view-updates';
import { roleOf } from './state-messages';
import { newMessage, type Message, type View } from './view';

export function reduceMessage(view: View, namespace: readonly string[], data: MessageData): View {
  const id = data.message_id;
  switch (data.event) {
    case 'message-start':
      return data.role === 'ai' ? start(view, namespace, id) : view;
    case 'content-block-start':
      return block(view, namespace, id, data.content, { isNew: true });
    case 'content-block-delta':
      return delta(view, namespace, id, data.delta);
    case 'content-block-finish':
      return block(view, namespace, id, data.content, { isNew: false });
    case 'message-finish':
      return withMessage(view, namespace, id, (message) => finish(message, data));
    default:
      return view;
  }
}

function start(view: View, namespace: readonly string[], id: string): View {
  return withAgent(view, namespace, (agent) => {
    const known = agent.messages.some((message) => message.id === id);
    const message = newMessage(id, roleOf('ai'), { isOpen: true });
    return known ? agent : { ...agent, messages: [...agent.messages, message] };
  });
}

function finish(message: Message, data: Extract<MessageData, { event: 'message-finish' }>): Message {
  const model = data.metadata?.['model_name'];
  return {
    ...message,
    isOpen: false,
    usage: data.usage ?? message.usage,
    model: typeof model === 'string' ? model : message.model,
  };
}

function delta(view: View, namespace: readonly string[], id: string, change: DeltaWire): View {
  if (change.type === 'text-delta') {
    return writing(view, namespace, id, (m) => ({ ...m, text: m.text + change.text }));
  }
  if (change.type === 'reasoning-delta') {
    return writing(view, namespace, id, (m) => ({ ...m, reasoning: m.reasoning + change.reasoning }));
  }
  const { args } = change.fields;
  if (typeof args !== 'string') return view;
  const message = view.agents[namespace.join('|')]?.messages.findLast((m) => m.id === id);
  const key = message?.calls.at(-1);
  const call = key === undefined ? undefined : view.calls[key];
  return call?.status === 'writing' ? withCall(view, { ...call, argsText: args }) : view;
}

function block(
  view: View,
  namespace: readonly string[],
  id: string,
  content: BlockWire,
  { isNew }: { isNew: boolean },
): View {
  switch (content.type) {
    case 'text':
      // A block that comes whole has its text in its start; a finish only repeats what came.
      return isNew && content.text
        ? writing(view, namespace, id, (m) => ({ ...m, text: m.text + content.text }))
        : view;
    case 'reasoning':
      return isNew && content.reasoning
        ? writing(view, namespace, id, (m) => ({ ...m, reasoning: m.reasoning + content.reasoning }))
        : view;
    case 'tool_call':
    case 'tool_call_chunk':
    case 'invalid_tool_call':
      return call(view, namespace, id, content);
    default:
      return view;
  }
}

function call(view: View, namespace: readonly string[], messageId: string, content: BlockWire): View {
  if (!content.id) return view;
  const key = `${messageId} ${content.id}`;
  const known = view.calls[key];
  if (known && known.status !== 'writing') return view;
  const whole = content.type === 'tool_call' ? (content.args as Fields) : null;
  const next = newCall(messageId, content.id, {
    ...known,
    name: content.name ?? known?.name ?? '',
    args: whole,
    argsText: typeof content.args === 'string' ? content.args : (known?.argsText ?? ''),
    status: content.type === 'invalid_tool_call' ? 'failed' : whole ? 'waiting' : 'writing',
    result: content.error ?? null,
  });
  const added = addCall(view, namespace, next);
  return withMessage(added, namespace, messageId, (message) =>
    message.calls.includes(key) ? message : { ...message, calls: [...message.calls, key] },
  );
}

/** Only a message that is being written grows; a replay of one that is known changes nothing. */
function writing(view: View, namespace: readonly string[], id: string, change: (m: Message) => Message): View {
  return withMessage(view, namespace, id, (message) => (message.isOpen ? change(message) : message));
}
