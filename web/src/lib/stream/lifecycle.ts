/** Runs and agents start and end. */
import type { LifecycleData } from '$lib/protocol/wire';
import { withAgent, withStep } from './view-updates';
import { ROOT, type Agent, type AgentStatus, type Call, type Message, type View } from './view';

export interface When {
  at: number;
  id: string;
}

export function reduceLifecycle(view: View, namespace: readonly string[], data: LifecycleData, when: When): View {
  return namespace.length ? nested(view, namespace, data, when) : main(view, data, when);
}

function main(view: View, data: LifecycleData, when: When): View {
  const runId = data.run_id ?? view.runId;
  const graph = data.graph_name ?? view.graph;
  if (isOfAnother(view, data)) return view;
  switch (data.event) {
    case 'started':
    case 'running': {
      const isNew = data.run_id !== view.runId || view.status !== 'running';
      const running: View = { ...view, status: 'running', runId, graph, error: null, questions: [] };
      const next = withAgent(running, [], (agent) => ({ ...agent, status: 'running' }));
      return isNew ? withStep(next, { ...line(when), kind: 'run', words: 'started' }) : next;
    }
    case 'completed':
      return finish({ ...view, status: 'idle', runId, graph, error: null }, 'done', when, 'completed');
    case 'failed':
      return finish(
        { ...view, status: 'failed', runId, graph, error: data.error ?? '' },
        'failed',
        when,
        data.error ?? 'failed',
      );
    case 'interrupted': {
      const waits = view.questions.length > 0;
      const status = waits ? 'interrupted' : 'idle';
      return finish({ ...view, status, runId, graph }, waits ? 'waiting' : 'stopped', when, waits ? 'waits' : 'stopped');
    }
    default:
      return view;
  }
}

/** The end of a run that waited behind the one at work: it was cancelled before its turn. */
function isOfAnother(view: View, { event, run_id: run }: LifecycleData): boolean {
  const isEnd = event !== 'started' && event !== 'running';
  return isEnd && view.status === 'running' && run !== undefined && view.runId !== null && run !== view.runId;
}

function nested(view: View, namespace: readonly string[], data: LifecycleData, when: When): View {
  const status: AgentStatus = (
    { started: 'running', running: 'running', completed: 'done', failed: 'failed', interrupted: 'waiting' } as const
  )[data.event];
  const callId = data.cause?.tool_call_id ?? null;
  const isNew = !view.agents[namespace.join('|')];
  const next = withAgent(view, namespace, (agent) => ({ ...agent, status, callId: callId ?? agent.callId }));
  if (!isNew || data.event !== 'started') return next;
  return withStep(next, { ...line(when), kind: 'agent', agent: namespace.join('|'), words: data.graph_name ?? '' });
}

/** A run's end ends what was being written, in every agent. */
function finish(view: View, status: AgentStatus, when: When, words: string): View {
  const agents: Record<string, Agent> = {};
  for (const [key, agent] of Object.entries(view.agents)) {
    const isActive = agent.status === 'running' || agent.status === 'waiting';
    const messages = agent.messages.some((message) => isLoose(message, status))
      ? agent.messages.map((message) => (isLoose(message, status) ? { ...message, isOpen: false, isCut: true } : message))
      : agent.messages;
    agents[key] = { ...agent, messages, status: key === ROOT || isActive ? status : agent.status };
  }
  const calls = status === 'waiting' ? view.calls : stopCalls(view.calls);
  const kind = status === 'failed' ? 'error' : 'run';
  return withStep({ ...view, agents, calls }, { ...line(when), kind, words });
}

/** Being written when its run ended; one that was stopped or failed leaves words that no state has had yet. */
function isLoose(message: Message, status: AgentStatus): boolean {
  const isLost = (status === 'stopped' || status === 'failed') && message.role === 'ai' && !message.isSettled;
  return !message.isCut && (message.isOpen || isLost);
}

function stopCalls(calls: View['calls']): View['calls'] {
  const isActive = (call: Call) => ['writing', 'waiting', 'running'].includes(call.status);
  if (!Object.values(calls).some(isActive)) return calls;
  return Object.fromEntries(
    Object.entries(calls).map(([key, call]) => [key, isActive(call) ? { ...call, status: 'stopped' as const } : call]),
  );
}

function line({ at, id }: When) {
  return { id, at, agent: ROOT, call: null };
}
