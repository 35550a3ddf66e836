/** Who asks for a document: the agent of the conversation, or the subagent that it sent out. */
import type { ToolContext } from '$lib/state/client-tools';
import { askedBy } from '$lib/stream/questions';
import type { Question } from '$lib/stream/view';
import type { Requester } from './disclosures';

export function requesterOf({ threadId, callId, namespace, app }: ToolContext, question?: Question): Requester {
  const found = question ?? { id: '', type: 'tool', payload: null, schema: null, namespace, callId };
  const { by } = askedBy(app.conversation.view, found);
  return { threadId, callId, agent: by === null ? app.agent : `${app.agent} › ${by}` };
}
