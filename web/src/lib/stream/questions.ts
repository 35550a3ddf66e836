/** Who asks, and why: a request without that cannot be answered with a good conscience. */
import { isFields } from '$lib/protocol/fields';
import type { Agent, Message, Question, View } from './view';
import { ROOT } from './view';

/**
 * Which asking it is. A question that comes again, because what it was bound to has changed, has
 * the id that it had before.
 */
export function questionKey({ id, payload }: Pick<Question, 'id' | 'payload'>): string {
  const bound = isFields(payload) ? payload['bound'] : null;
  return isFields(bound) ? `${id} ${String(bound['version'])} ${String(bound['result'])}` : id;
}

export interface Asked {
  /** The kind of subagent; null for the main agent. */
  by: string | null;
  /** What it was sent out to do. */
  task: string | null;
  /** What it wrote when it asked. */
  words: string | null;
}

export function askedBy(view: View, question: Question): Asked {
  const found = question.callId === null ? null : findCall(view, question);
  const agent = found?.agent ?? view.agents[question.namespace.join('|')] ?? view.agents[ROOT]!;
  return { ...sentOut(view, agent), words: found?.message.text.trim() || null };
}

/** What a subagent is and was told to do, from the call that sent it out. */
export function sentOut(view: View, agent: Agent): { by: string | null; task: string | null } {
  if (agent.key === ROOT) return { by: null, task: null };
  const call = Object.values(view.calls).findLast((other) => other.id === agent.callId);
  const kind = call?.args?.['subagent_type'];
  const task = call?.args?.['description'];
  return {
    by: typeof kind === 'string' ? kind : (agent.namespace.at(-1)?.split(':')[0] ?? null),
    task: typeof task === 'string' ? task : firstWords(agent),
  };
}

function firstWords(agent: Agent): string | null {
  return agent.messages.find((message) => message.role === 'human')?.text ?? null;
}

function findCall(view: View, question: Question): { agent: Agent; message: Message } | null {
  const own = view.agents[question.namespace.join('|')];
  const agents = own ? [own, ...Object.values(view.agents)] : Object.values(view.agents);
  for (const agent of agents) {
    const message = agent.messages.findLast((other) => other.calls.includes(`${other.id} ${question.callId}`));
    if (message) return { agent, message };
  }
  return null;
}
