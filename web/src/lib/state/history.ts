/** What is looked up in a thread's states. */
import type { Api } from '$lib/protocol/api';
import { questionKey } from '$lib/stream/questions';
import { viewOf } from '$lib/stream/reducer';

const PAGE = 20;
const MOST_PAGES = 50;

/** The checkpoint before a message: newest first, until the message is not there. */
export async function checkpointBefore(api: Api, threadId: string, messageId: string): Promise<string | null> {
  let before: string | undefined;
  let found: string | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const states = await api.history(threadId, { limit: PAGE, ...(before ? { before } : {}) });
    for (const state of states) {
      const holds = state.values?.messages?.some((message) => message.id === messageId) ?? false;
      if (!holds && found !== null) return found;
      if (holds) found = state.parent_checkpoint?.checkpoint_id ?? null;
      before = state.checkpoint?.checkpoint_id ?? undefined;
    }
    if (states.length < PAGE) return found;
  }
  return null;
}

/** The keys of the questions that the server waits for. */
export async function readOpenQuestions(api: Api, threadId: string): Promise<ReadonlySet<string>> {
  return new Set(viewOf(await api.state(threadId)).questions.map(questionKey));
}
