/** A thread's runs that wait for their turn, as the server lists them. */
import type { RunWire } from '$lib/protocol/wire';
import { textOf } from '$lib/stream/state-messages';
import { newMessage, type Message, type View } from '$lib/stream/view';
import type { Replay } from './replay';

export interface Queued {
  readonly runId: string;
  /** The message that it brings; null for a run that goes on with answers. */
  readonly messageId: string | null;
}

/** The runs that wait, oldest first. */
export function queuedOf(runs: readonly RunWire[]): Queued[] {
  return waiting(runs).map((run) => ({ runId: run.run_id, messageId: lastMessage(run)?.id ?? null }));
}

/** What waiting runs bring and the thread does not have yet. */
export function messagesOf(runs: readonly RunWire[], known: readonly Message[]): Message[] {
  return waiting(runs).flatMap((run) => {
    const wire = lastMessage(run);
    if (!wire?.id || known.some((message) => message.id === wire.id)) return [];
    return [newMessage(wire.id, 'human', { text: textOf(wire.content), isPending: true })];
  });
}

/** Whether something runs is for the runs to say: a state that has a next step may have been stopped there. */
export function withRuns(view: View, runs: readonly RunWire[]): View {
  const running = runs.find((run) => run.status === 'running');
  if (running) return { ...view, status: 'running', runId: running.run_id };
  return view.status === 'running' ? { ...view, status: 'idle' } : view;
}

/** The runs that still wait by what the log tells, and the messages of those that were cancelled before their turn. */
export function stillQueued(queued: readonly Queued[], log: Pick<Replay, 'hasSeen' | 'hasEndedUnstarted'>) {
  const cancelled = queued.filter(({ runId }) => log.hasEndedUnstarted(runId));
  return {
    waiting: queued.filter(({ runId }) => !log.hasSeen(runId)),
    dropped: cancelled.flatMap(({ messageId }) => (messageId === null ? [] : [messageId])),
  };
}

function waiting(runs: readonly RunWire[]): RunWire[] {
  return runs.filter((run) => run.status === 'pending').reverse();
}

function lastMessage(run: RunWire) {
  return run.kwargs?.input?.messages?.findLast((message) => message.type === 'human');
}
