/** From events to what is shown: `reduce(view, event)` gives the next view and changes nothing. */
import { isFields } from '$lib/protocol/fields';
import type {
  CheckpointData,
  InputData,
  Json,
  LifecycleData,
  MessageData,
  QuestionWire,
  StateWire,
  ToolData,
  ValuesWire,
  WireEvent,
} from '$lib/protocol/wire';
import { callOf, withAgent, withCall, withStep } from './view-updates';
import { reduceLifecycle } from './lifecycle';
import { reduceMessage } from './messages';
import { settleMessages, textOf } from './state-messages';
import { emptyView, ROOT, type Question, type StepKind, type View } from './view';

const MOST_CUSTOM = 200;
const LONGEST_WORDS = 400;

export function reduce(view: View, event: WireEvent): View {
  const { namespace, data, timestamp } = event.params;
  switch (event.method) {
    case 'messages':
      return isSpoken(event) ? traceMessage(reduceMessage(view, namespace, data as MessageData), event) : view;
    case 'tools':
      return reduceTool(view, namespace, data as ToolData, event);
    case 'values':
      return reduceValues(view, namespace, data as ValuesWire);
    case 'checkpoints':
      return namespace.length ? view : reduceCheckpoint(view, data as CheckpointData);
    case 'lifecycle':
      return reduceLifecycle(forgetReading(view), namespace, data as LifecycleData, { at: timestamp, id: event.event_id });
    case 'input.requested':
      return reduceInput(view, namespace, data as InputData, event);
    case 'custom':
      return reduceCustom(view, data as { name?: string; payload: Json });
    default:
      return view;
  }
}

/**
 * Whether words are for the person. Agents speak in the node `model`; what other nodes ask a model
 * (a planner, an auditor) is work, and its outcome comes with the state.
 */
function isSpoken({ params }: WireEvent): boolean {
  return params.node === undefined || params.node === 'model' || params.node === 'agent';
}

/** The view of a state that was read whole. */
export function viewOf(state: StateWire): View {
  const checkpoint = state.checkpoint?.checkpoint_id ?? null;
  const parent = state.parent_checkpoint?.checkpoint_id ?? null;
  const settled = reduceValues(emptyView(), [], state.values);
  const questions = state.interrupts.map((question) => questionOf(question, []));
  const status = questions.length ? 'interrupted' : state.next.length ? 'running' : 'idle';
  return { ...settled, questions, status, checkpoint, parent };
}

export function questionOf(question: QuestionWire, namespace: readonly string[]): Question {
  const payload = question.value;
  const fields = isFields(payload) ? payload : {};
  const call = isFields(fields['tool_call']) ? fields['tool_call']['id'] : fields['tool_call_id'];
  return {
    id: question.id,
    type: typeof fields['type'] === 'string' ? fields['type'] : '',
    payload,
    schema: question.response_schema ?? null,
    namespace,
    callId: typeof call === 'string' ? call : null,
  };
}

function reduceValues(view: View, namespace: readonly string[], values: ValuesWire): View {
  // The state of a function is whatever it returned.
  const { messages, ...rest }: ValuesWire = isFields(values) ? values : { value: values };
  const settled = Array.isArray(messages) ? settleMessages(view, namespace, messages) : view;
  const next = withAgent(settled, namespace, (agent) => ({ ...agent, values: { ...agent.values, ...rest } }));
  return namespace.length ? next : { ...next, isWhole: true, before: backPoints(next) };
}

/**
 * A person's message that is new in this state can be sent again from the checkpoint before it.
 * Where several are new at once, or nothing is known of the checkpoint, it is null: to be looked up.
 */
function backPoints(view: View): View['before'] {
  const fresh = view.agents[ROOT]!.messages.filter(
    (message) => message.role === 'human' && !message.isPending && !(message.id in view.before),
  );
  if (!fresh.length) return view.before;
  const point = fresh.length === 1 ? view.parent : null;
  return { ...view.before, ...Object.fromEntries(fresh.map((message) => [message.id, point])) };
}

function reduceCheckpoint(view: View, data: CheckpointData): View {
  return { ...view, checkpoint: data.id, parent: data.parent_id ?? null };
}

function reduceTool(view: View, namespace: readonly string[], data: ToolData, event: WireEvent): View {
  const call = callOf(view, namespace, data.tool_call_id);
  if (!call) return view;
  const at = event.params.timestamp;
  if (data.event === 'tool-started') {
    const running = withCall(view, { ...call, status: 'running', startedAt: call.startedAt ?? at, endedAt: null });
    return call.startedAt === null ? step(running, event, 'tool', call.name, call.key) : running;
  }
  if (data.event === 'tool-error') {
    const result = data.message ?? data.error ?? '';
    return step(withCall(view, { ...call, status: 'failed', result, endedAt: at }), event, 'error', result, call.key);
  }
  const result = outputOf(data.output);
  const failed = isFields(data.output) && data.output['status'] === 'error';
  return withCall(view, { ...call, status: failed ? 'failed' : 'done', result, endedAt: at });
}

function outputOf(output: Json | undefined): string {
  if (output === undefined || output === null) return '';
  if (typeof output === 'string') return output;
  if (isFields(output) && 'content' in output) return textOf(output['content']);
  return JSON.stringify(output, null, 2);
}

function reduceInput(view: View, namespace: readonly string[], data: InputData, event: WireEvent): View {
  if (view.questions.some((question) => question.id === data.interrupt_id)) return view;
  const wire: QuestionWire = {
    id: data.interrupt_id,
    value: data.payload,
    ...(data.response_schema ? { response_schema: data.response_schema } : {}),
  };
  const question = questionOf(wire, namespace);
  const asked = { ...view, questions: [...view.questions, question] };
  const call = question.callId === null ? null : callOf(view, namespace, question.callId);
  const waiting = call ? withCall(asked, { ...call, status: 'waiting' }) : asked;
  return step(waiting, event, 'ask', question.type, call?.key ?? null);
}

function reduceCustom(view: View, data: { name?: string; payload: Json }): View {
  const name = data.name ?? '';
  const told = [...(view.custom[name] ?? []), data.payload].slice(-MOST_CUSTOM);
  return { ...view, custom: { ...view.custom, [name]: told } };
}

/** How far a model is with its prompt is said while it reads; a run that was stopped never says that it has. */
function forgetReading(view: View): View {
  return view.custom['prompt_progress'] ? { ...view, custom: { ...view.custom, prompt_progress: [] } } : view;
}

function traceMessage(view: View, event: WireEvent): View {
  const data = event.params.data as MessageData;
  if (data.event !== 'message-finish') return view;
  const agent = view.agents[event.params.namespace.join('|')];
  const message = agent?.messages.findLast((other) => other.id === data.message_id);
  if (!message) return view;
  return step(view, event, 'model', (message.reasoning || message.text).slice(0, LONGEST_WORDS), null);
}

function step(view: View, event: WireEvent, kind: StepKind, words: string, call: string | null): View {
  const { namespace, timestamp } = event.params;
  return withStep(view, { id: event.event_id, at: timestamp, kind, agent: namespace.join('|'), words, call });
}
