/** Who asks for a document: the agent of the conversation, or the subagent that it sent out. */
import type { ToolContext } from '$lib/extend/extension';
import { askedBy } from '$lib/stream/asked';
import type { Question } from '$lib/stream/view';
import type { Asking } from './disclosures';

export function askingOf({ threadId, callId, namespace, workspace }: ToolContext, question?: Question): Asking {
  const found = question ?? { id: '', type: 'tool', payload: null, schema: null, namespace, callId };
  const { by } = askedBy(workspace.conversation.view, found);
  return { threadId, callId, agent: by === null ? workspace.agent : `${workspace.agent} › ${by}` };
}
