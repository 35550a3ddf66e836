/** The calls of a turn as it shows them: those in a row that need nobody are one group. */
import type { Call, Message, View } from '$lib/stream/view';
import { isAsking, isQuiet } from './gist';

export interface CallGroup {
  /** The key of its first call. */
  readonly key: string;
  readonly calls: readonly Call[];
  /** One line for all; a call that is not folded is alone in its group. */
  readonly isFolded: boolean;
}

interface Options {
  /** Calls wait for an answer of the person, not only for their turn. */
  isHeld: boolean;
  /** Whether an extension shows something over a message. */
  hasNote: (messageId: string) => boolean;
  /** Whether the person decided about a call: that stays in sight. */
  isDecided: (call: Call) => boolean;
}

/** The groups by the message in which they begin: a group takes in calls of the messages after it. */
export function groupCalls(messages: readonly Message[], calls: View['calls'], { isHeld, hasNote, isDecided }: Options): Map<string, CallGroup[]> {
  const groups = new Map<string, CallGroup[]>();
  let last: Call[] | null = null;
  for (const message of messages) {
    const own: CallGroup[] = [];
    groups.set(message.id, own);
    if (showsMore(message) || hasNote(message.id)) last = null;
    for (const call of message.calls.map((key) => calls[key])) {
      if (!call || isQuiet(call.name)) continue;
      const isFolded = folds(call, isHeld) && !isDecided(call);
      if (isFolded && last) last.push(call);
      else own.push({ key: call.key, calls: (last = [call]), isFolded });
      if (!isFolded) last = null;
    }
  }
  return groups;
}

/** A group does not go on past what a message shows besides its calls. */
function showsMore({ text, reasoning, isCut }: Message): boolean {
  return text.trim() !== '' || reasoning !== '' || isCut;
}

/** What went wrong, waits, asks or is a voice of its own is never put away. */
function folds({ name, status }: Call, isHeld: boolean): boolean {
  if (name === 'task' || isAsking(name)) return false;
  return status === 'waiting' ? !isHeld : ['writing', 'running', 'done'].includes(status);
}
