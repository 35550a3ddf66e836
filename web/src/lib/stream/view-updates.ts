/** Small changes of a view, each giving a new one and leaving the rest as it was. */
import { newAgent, type Agent, type Call, type Message, type Step, type View } from './view';

const MOST_STEPS = 1000;

export function agentKey(namespace: readonly string[]): string {
  return namespace.join('|');
}

export function withAgent(view: View, namespace: readonly string[], change: (agent: Agent) => Agent): View {
  const key = agentKey(namespace);
  const old = view.agents[key] ?? newAgent(key, namespace);
  const next = change(old);
  return next === view.agents[key] ? view : { ...view, agents: { ...view.agents, [key]: next } };
}

/** A view with other messages of the main agent. */
export function withMessages(view: View, change: (messages: readonly Message[]) => readonly Message[]): View {
  return withAgent(view, [], (agent) => ({ ...agent, messages: change(agent.messages) }));
}

export function withMessage(
  view: View,
  namespace: readonly string[],
  id: string,
  change: (message: Message) => Message,
): View {
  return withAgent(view, namespace, (agent) => {
    // Searched from the end: what changes is nearly always the newest.
    const index = agent.messages.findLastIndex((message) => message.id === id);
    if (index === -1) return agent;
    const next = change(agent.messages[index]!);
    return next === agent.messages[index]
      ? agent
      : { ...agent, messages: agent.messages.with(index, next) };
  });
}

export function withCall(view: View, call: Call): View {
  return { ...view, calls: { ...view.calls, [call.key]: call } };
}

/** The newest call under an id in an agent. */
export function callOf(view: View, namespace: readonly string[], id: string): Call | null {
  const key = view.latest[`${agentKey(namespace)} ${id}`];
  return (key !== undefined && view.calls[key]) || null;
}

export function addCall(view: View, namespace: readonly string[], call: Call): View {
  const latest = { ...view.latest, [`${agentKey(namespace)} ${call.id}`]: call.key };
  return { ...withCall(view, call), latest };
}

export function newCall(messageId: string, id: string, over: Partial<Call> = {}): Call {
  return {
    key: `${messageId} ${id}`,
    id,
    name: '',
    args: null,
    argsText: '',
    status: 'writing',
    result: null,
    answer: null,
    decisions: [],
    proposal: null,
    startedAt: null,
    endedAt: null,
    ...over,
  };
}

export function withStep(view: View, step: Step): View {
  const kept = view.steps.length >= MOST_STEPS ? view.steps.slice(1 - MOST_STEPS) : view.steps;
  return { ...view, steps: [...kept, step] };
}
