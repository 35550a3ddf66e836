// The protocol as it is on the wire: what the stock client relies on without saying so.
import { ALL, assert, command, events, human, isEnd, newClient, randomUUID, sleep, started, until, untilEnd, apiUrl } from "./kit.mjs";

const ended = (threadId, body = { channels: ALL }) => untilEnd(threadId, body);
const seqs = (found) => found.map((event) => event.seq);
const data = (found, method) => found.filter((e) => e.method === method).map((e) => e.params.data);
const rises = (numbers) => numbers.every((n, i) => i === 0 || n > numbers[i - 1]);

export const behaviours = {
  "numbers rise and are the same at every replay": async () => {
    const { threadId } = await started("chat", human("add"));
    const first = await ended(threadId);
    const second = await ended(threadId);
    assert.ok(rises(seqs(first)));
    assert.deepEqual(first.map((e) => [e.event_id, e.method]), second.map((e) => [e.event_id, e.method]));
    assert.equal(new Set(first.map((e) => e.event_id)).size, first.length);
  },
  "two connections with other channels give an event the same number": async () => {
    const { threadId } = await started("chat", human("add"));
    const all = await ended(threadId);
    const some = await ended(threadId, { channels: ["values", "lifecycle"] });
    const known = new Map(all.map((e) => [e.event_id, e.method]));
    for (const event of some) assert.equal(known.get(event.event_id), event.method);
  },
  "since gives what comes after and nothing else, at every point": async () => {
    const { threadId } = await started("chat", human("add"));
    const all = await ended(threadId);
    for (const { seq } of all.slice(0, -1)) {
      const later = await ended(threadId, { channels: ALL, since: seq });
      assert.deepEqual(seqs(later), seqs(all).filter((n) => n > seq));
    }
  },
  "a stream opened before the thread exists waits for it": async () => {
    const threadId = randomUUID();
    const found = ended(threadId);
    await sleep(300);
    await started("chat", human("hello"), { threadId });
    assert.equal((await found).at(-1).params.data.event, "completed");
  },
  "a silent stream carries comments": async () => {
    const abort = new AbortController();
    const response = await fetch(`${apiUrl}/threads/${randomUUID()}/stream/events`, {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ channels: ["values"] }), signal: abort.signal,
    });
    const reader = response.body.getReader();
    let text = "";
    while ((text.match(/^:/gm) ?? []).length < 3) text += new TextDecoder().decode((await reader.read()).value);
    abort.abort();
  },
  "a message starts, grows block by block and finishes": async () => {
    const { threadId } = await started("chat", human("hello"));
    const found = data(await ended(threadId), "messages");
    const kinds = found.map((d) => d.event);
    assert.equal(kinds[0], "message-start");
    assert.equal(kinds[1], "content-block-start");
    assert.deepEqual(kinds.slice(-2), ["content-block-finish", "message-finish"]);
    const text = found.filter((d) => d.event === "content-block-delta").map((d) => d.delta.text).join("");
    assert.equal(text, found.at(-2).content.text);
    assert.equal(found.at(-1).usage.total_tokens > 0, true);
  },
  "a tool call is a block that ends with its arguments": async () => {
    const { threadId } = await started("chat", human("add"));
    const found = data(await ended(threadId), "messages");
    const call = found.find((d) => d.event === "content-block-finish" && d.content.type === "tool_call");
    assert.deepEqual([call.content.name, call.content.args], ["add", { a: 2, b: 3 }]);
    const open = found.filter((d) => d.event === "content-block-start").length;
    assert.equal(open, found.filter((d) => d.event === "content-block-finish").length);
  },
  "tools tell when they start and what they give": async () => {
    const { threadId } = await started("chat", human("add"));
    const [first, last] = data(await ended(threadId), "tools");
    assert.deepEqual([first.event, first.tool_name, first.input], ["tool-started", "add", { a: 2, b: 3 }]);
    assert.deepEqual([last.event, last.tool_call_id], ["tool-finished", "call_add"]);
  },
  "a run's life is told in order": async () => {
    const { threadId, runId } = await started("chat", human("hello"));
    const found = data(await ended(threadId), "lifecycle");
    assert.deepEqual(found.map((d) => d.event), ["started", "running", "completed"]);
    assert.ok(found.every((d) => d.graph_name === "chat" && d.run_id === runId));
  },
  "each checkpoint is told of before the values it holds": async () => {
    const { threadId } = await started("steps", { name: "c", steps: 2 });
    const found = (await ended(threadId)).filter((e) => ["values", "checkpoints"].includes(e.method));
    const kinds = found.map((e) => e.method).join(" ");
    assert.match(kinds, /^checkpoints (checkpoints values ?)+$/);
    const history = await newClient().threads.getHistory(threadId);
    const known = new Set(history.map((state) => state.checkpoint.checkpoint_id));
    for (const { id } of data(found, "checkpoints")) assert.ok(known.has(id));
  },
  "a question carries its payload and its schema": async () => {
    const { threadId } = await started("chat", human("confirm"));
    const [question] = data(await ended(threadId), "input.requested");
    assert.equal(question.payload.what, "delete");
    assert.equal(question.response_schema.properties.approve.type, "boolean");
    const { tasks } = await newClient().threads.getState(threadId);
    assert.equal(tasks[0].interrupts[0].response_schema.properties.approve.type, "boolean");
  },
  "values never carry the questions": async () => {
    const { threadId } = await started("chat", human("ask"));
    for (const values of data(await ended(threadId), "values")) assert.ok(!("__interrupt__" in values));
  },
  "custom events arrive, by channel and by name": async () => {
    const { threadId } = await started("writer", {});
    const all = data(await ended(threadId, { channels: ["custom", "lifecycle"] }), "custom");
    assert.deepEqual(all, [{ payload: { progress: 1 } }, { name: "argmap", payload: { node: "claim" } }]);
    const named = data(await ended(threadId, { channels: ["custom:argmap", "lifecycle"] }), "custom");
    assert.deepEqual(named.map((d) => d.name), ["argmap"]);
  },
  "namespaces are filtered by prefix and depth": async () => {
    const { threadId } = await started("deep", human("go"));
    const all = await ended(threadId);
    const nested = (e) => e.params.namespace.length > 0;
    assert.ok(all.some(nested));
    const root = await ended(threadId, { channels: ALL, namespaces: [[]], depth: 0 });
    assert.ok(!root.some(nested));
    const below = [];
    const abort = new AbortController();
    const stop = setTimeout(() => abort.abort(), 700);
    try {
      for await (const e of events(threadId, { channels: ALL, namespaces: [["tools"]] }, { signal: abort.signal })) below.push(e);
    } catch (error) { if (!abort.signal.aborted) throw error; }
    clearTimeout(stop);
    assert.ok(below.length > 0 && below.every(nested));
  },
  "a subagent's messages arrive under its namespace": async () => {
    const { threadId } = await started("deep", human("go"));
    const all = await ended(threadId);
    const deltas = all.filter((e) => e.method === "messages" && /^tools:/.test(e.params.namespace[0] ?? ""));
    assert.match(JSON.stringify(deltas), /Done with look/);
  },
  "an answer to a question that is not open is refused": async () => {
    const { threadId } = await started("chat", human("ask"));
    await ended(threadId);
    const answer = await command(threadId, "input.respond", { interrupt_id: "0".repeat(32), response: 1, namespace: [] });
    assert.deepEqual([answer.type, answer.error], ["error", "no_such_interrupt"]);
  },
  "the same answer twice counts once": async () => {
    const { threadId } = await started("chat", human("ask"));
    const [question] = data(await ended(threadId), "input.requested");
    const params = { interrupt_id: question.interrupt_id, response: "2024", namespace: [] };
    const answers = await Promise.all([1, 2, 3].map(() => command(threadId, "input.respond", params)));
    assert.ok(answers.every((a) => a.type === "success"), JSON.stringify(answers));
    const client = newClient();
    await until("the end", async () => (await client.threads.get(threadId)).status === "idle");
    const { values } = await client.threads.getState(threadId);
    assert.deepEqual(values.messages.map((m) => m.type), ["human", "ai", "tool", "ai"]);
    assert.equal((await client.runs.list(threadId)).length, 2);
  },
  "a partial answer is kept, not asked again, and used with the rest": async () => {
    const { threadId } = await started("chat", human("ask two"));
    const asked = (await ended(threadId)).filter((event) => event.method === "input.requested");
    const [first, second] = asked.map((event) => event.params.data.interrupt_id);
    const kept = await command(threadId, "input.respond", { interrupt_id: first, response: "a", namespace: [] });
    assert.deepEqual(kept.result.waiting_for, [second]);
    // A client drops what it reads after the answer and takes for history: not what is still open.
    assert.ok(kept.meta.applied_through_seq >= asked[0].seq);
    assert.ok(kept.meta.applied_through_seq < asked[1].seq);
    const state = await newClient().threads.getState(threadId);
    assert.deepEqual(state.tasks.flatMap((t) => t.interrupts.map((i) => i.id)), [second]);
    await command(threadId, "input.respond", { interrupt_id: second, response: "b", namespace: [] });
    await until("the end", async () => (await newClient().threads.get(threadId)).status === "idle");
  },
  "a new message does not lose an answer that was already given": async () => {
    const { threadId } = await started("chat", human("ask two"));
    const found = data(await ended(threadId), "input.requested");
    const first = found.find((d) => d.payload.question === "First?");
    await command(threadId, "input.respond", { interrupt_id: first.interrupt_id, response: "kept", namespace: [] });
    const { runId } = await started("chat", human("never mind"), { threadId });
    const client = newClient();
    await client.runs.join(threadId, runId);
    const { values, tasks } = await client.threads.getState(threadId);
    const answer = values.messages.find((m) => m.type === "tool" && m.tool_call_id === "call_1");
    assert.equal(answer?.content, "kept");
    assert.deepEqual(tasks, []);
    assert.ok(values.messages.some((m) => m.type === "human" && m.content === "never mind"));
  },
  "unknown commands and bad arguments are answers, not failures": async () => {
    const { threadId } = await started("chat", human("hello"));
    assert.equal((await command(threadId, "no.such")).error, "unknown_command");
    assert.equal((await command(threadId, "run.start", {})).error, "invalid_argument");
    assert.equal((await command(threadId, "run.start", { assistant_id: "nobody" })).error, "invalid_argument");
    assert.equal((await command(threadId, "input.respond", {})).error, "invalid_argument");
    assert.equal((await command(threadId, "state.fork", { checkpoint_id: "none" })).error, "no_such_checkpoint");
    assert.equal((await command(threadId, "subscription.subscribe", { channels: ["values"] })).error, "unknown_command");
  },
  "state.get gives the values asked for": async () => {
    const { threadId } = await started("steps", { name: "g", steps: 1 });
    await ended(threadId);
    const { result } = await command(threadId, "state.get", { namespace: [], keys: ["items"] });
    assert.deepEqual(result.values, { items: ["g:0"] });
    assert.ok(result.checkpoint.id);
  },
  "checkpoints are listed and forked from": async () => {
    const { threadId } = await started("steps", { name: "f", steps: 2 });
    await ended(threadId);
    const { result } = await command(threadId, "state.listCheckpoints", { limit: 100 });
    assert.ok(result.checkpoints.length >= 4);
    const first = result.checkpoints.find((c) => c.step === 0);
    const fork = await command(threadId, "state.fork", { checkpoint_id: first.id });
    assert.equal(fork.result.thread_id, threadId);
    const client = newClient();
    await client.runs.join(threadId, fork.result.run_id);
    const { values } = await client.threads.getState(threadId);
    assert.deepEqual(values.items, ["f:0", "f:1"]);
  },
  "the tree of agents shows the subagent": async () => {
    const { threadId } = await started("deep", human("go"));
    await ended(threadId);
    const { result } = await command(threadId, "agent.getTree");
    assert.equal(result.tree.status, "completed");
    assert.match(result.tree.children[0].namespace[0], /^tools:/);
  },
  "reject refuses a second run": async () => {
    const { threadId } = await started("steps", { name: "r", steps: 5, delay: 0.2 });
    const params = { assistant_id: "steps", input: { name: "x" }, multitask_strategy: "reject" };
    assert.equal((await command(threadId, "run.start", params)).error, "invalid_argument");
    await ended(threadId);
  },
  "interrupt keeps what was done, rollback undoes it": async () => {
    for (const strategy of ["interrupt", "rollback"]) {
      const { threadId, runId } = await started("steps", { name: "old", steps: 50, delay: 0.1 });
      const client = newClient();
      await until("some steps", async () => ((await client.threads.getState(threadId)).values.items ?? []).length >= 2);
      const next = await started("steps", { name: "new", steps: 1 }, { threadId, params: { multitask_strategy: strategy } });
      await client.runs.join(threadId, next.runId);
      const { values } = await client.threads.getState(threadId);
      assert.equal(values.items.at(-1), "new:0");
      assert.equal(values.items.some((item) => item.startsWith("old")), strategy === "interrupt");
      assert.equal((await client.runs.get(threadId, runId)).status, "interrupted");
    }
  },
  "ten runs at once on a thread all happen, one after the other": async () => {
    const threadId = randomUUID();
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, i) => started("steps", { name: `n${i}`, steps: 1 }, { threadId })));
    const client = newClient();
    for (const { runId } of runs) await client.runs.join(threadId, runId);
    const { values } = await client.threads.getState(threadId);
    assert.deepEqual([...values.items].sort(), runs.map((_, i) => `n${i}:0`).sort());
  },
};
