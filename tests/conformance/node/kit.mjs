// What the behaviours share: a client, a controller, waiting, comparing.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Client } from "@langchain/langgraph-sdk";
import { StreamController } from "@langchain/langgraph-sdk/stream";

export { assert, randomUUID };
export const apiUrl = process.env.CONFORMANCE_URL;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(what, check, ms = 15000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain for: ${what}`);
    await sleep(20);
  }
}

export const newClient = (options = {}) =>
  new Client({ apiUrl, apiKey: null, callerOptions: { maxRetries: 0 }, ...options });

export const human = (content) => ({ messages: [{ type: "human", content }] });

export function controller(assistantId, options = {}) {
  const made = new StreamController({ client: newClient(), assistantId, threadId: null, ...options });
  made.activate();
  return made;
}

export const snapshot = (made) => made.rootStore.getSnapshot();
export const texts = (made) =>
  snapshot(made).messages.map((m) => `${m.getType()}:${m.text ?? m.content}`);
export const settled = (made) => until("the run to settle", () => !snapshot(made).isLoading);
export const lastText = (made) => texts(made).at(-1);

// A raw subscription: every event as the wire has it.
export async function* events(threadId, body, { signal, headers } = {}) {
  const response = await fetch(`${apiUrl}/threads/${threadId}/stream/events`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal,
  });
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type"), /text\/event-stream/);
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body) {
    rest += decoder.decode(chunk, { stream: true });
    let cut;
    while ((cut = rest.indexOf("\n\n")) >= 0) {
      const lines = rest.slice(0, cut).split("\n");
      rest = rest.slice(cut + 2);
      const data = lines.find((line) => line.startsWith("data: "));
      if (data === undefined) continue;
      const event = JSON.parse(data.slice(6));
      assert.ok(lines.includes(`id: ${event.event_id}`));
      yield event;
    }
  }
}

// All events up to and with the one that ends the thread's run.
export async function untilEnd(threadId, body, options = {}) {
  const abort = new AbortController();
  const found = [];
  const timer = setTimeout(() => abort.abort(new Error("the stream did not end")), 15000);
  try {
    for await (const event of events(threadId, body, { ...options, signal: abort.signal })) {
      found.push(event);
      if (isEnd(event)) break;
    }
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
  return found;
}
export const isEnd = (event) =>
  event.method === "lifecycle" &&
  event.params.namespace.length === 0 &&
  ["completed", "failed", "interrupted"].includes(event.params.data.event);

let commandId = 0;
export async function command(threadId, method, params = {}) {
  const id = ++commandId;
  const response = await fetch(`${apiUrl}/threads/${threadId}/commands`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id, method, params }),
  });
  const answer = await response.json();
  if (answer.type) assert.equal(answer.id, id);
  return { status: response.status, ...answer };
}
export async function started(assistant_id, input, extra = {}) {
  const threadId = extra.threadId ?? randomUUID();
  const answer = await command(threadId, "run.start", { assistant_id, input, ...extra.params });
  assert.equal(answer.type, "success", JSON.stringify(answer));
  return { threadId, runId: answer.result.run_id, seq: answer.meta.applied_through_seq };
}
export const ALL = ["values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "custom"];
