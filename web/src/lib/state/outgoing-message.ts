/** A message of the person on its way to the server: as it is shown, and as a run gets it. */
import type { Fields } from '$lib/protocol/wire';
import { newId } from '$lib/protocol/ids';
import { newMessage, type Message } from '$lib/stream/view';

export interface OutgoingMessage {
  readonly message: Message;
  /** The input of the run that it starts. */
  readonly input: Fields;
}

export function newOutgoing(words: string, extra: Fields): OutgoingMessage {
  const message = newMessage(newId(), 'human', { text: words, isPending: true });
  return { message, input: { messages: [{ type: 'human', id: message.id, content: words }], ...extra } };
}

/** The messages before one of them; all, where it is not there. */
export function messagesBefore(messages: readonly Message[], id: string): readonly Message[] {
  const index = messages.findIndex((message) => message.id === id);
  return index === -1 ? messages : messages.slice(0, index);
}
