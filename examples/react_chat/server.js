// Where the page finds Bathysphere, and which thread it shows: both are in its address.
const address = new URL(location.href);

export const apiUrl = address.searchParams.get('api') ?? 'http://127.0.0.1:8123';
export const assistantId = 'mailer';
export const openThread = address.searchParams.get('thread') ?? undefined;

/** Keep the thread in the address, so that a reload comes back to it. */
export function rememberThread(id) {
  const next = new URL(location.href);
  if (id) next.searchParams.set('thread', id);
  history.replaceState(null, '', next);
}

export const threadAddress = (id) => `?${new URLSearchParams({ api: apiUrl, thread: id })}`;

/** The earlier threads of this agent, named by their first message. */
export async function earlierThreads(client) {
  const found = await client.threads.search({ metadata: { graph_id: assistantId }, limit: 20 });
  return found.map((thread) => ({ id: thread.thread_id, title: thread.values?.messages?.[0]?.content ?? 'Empty' }));
}

export const decide = {
  approve: { decisions: [{ type: 'approve' }] },
  reject: { decisions: [{ type: 'reject', message: 'Not now' }] },
};
