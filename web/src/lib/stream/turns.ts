/** A conversation in turns: what the person said, and all that the agent did until the next time. */
import type { Message } from './view';

export interface Turn {
  readonly key: string;
  readonly human: Message | null;
  readonly answers: readonly Message[];
}

export function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: { key: string; human: Message | null; answers: Message[] }[] = [];
  for (const message of messages) {
    if (message.role === 'system') continue;
    if (message.role === 'human') turns.push({ key: message.id, human: message, answers: [] });
    else if (turns.length) turns.at(-1)!.answers.push(message);
    else turns.push({ key: message.id, human: null, answers: [message] });
  }
  return turns;
}
