// The stock REST client: threads, runs, the older stream, assistants, store.
import { assert, human, newClient, randomUUID, sleep, until } from "./kit.mjs";

const client = newClient();
async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

export const behaviours = {
  "threads are made, found, counted, changed and deleted": async () => {
    const mark = randomUUID();
    const thread = await client.threads.create({ metadata: { mark } });
    assert.equal(thread.status, "idle");
    assert.equal((await client.threads.search({ metadata: { mark } })).length, 1);
    assert.equal(await client.threads.count({ metadata: { mark } }), 1);
    await client.threads.update(thread.thread_id, { metadata: { title: "x" } });
    assert.deepEqual((await client.threads.get(thread.thread_id)).metadata, { mark, title: "x" });
    await client.threads.delete(thread.thread_id);
    await assert.rejects(client.threads.get(thread.thread_id), /404/);
  },
  "a copy has the history and a life of its own": async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "chat", { input: human("hello") });
    const copy = await client.threads.copy(thread_id);
    await client.runs.wait(copy.thread_id, "chat", { input: human("more") });
    assert.equal((await client.threads.getState(thread_id)).values.messages.length, 2);
    assert.equal((await client.threads.getState(copy.thread_id)).values.messages.length, 4);
  },
  "the older stream gives values, updates and messages": async () => {
    const { thread_id } = await client.threads.create();
    let created;
    const parts = await collect(client.runs.stream(thread_id, "chat", {
      input: human("hello"), streamMode: ["values", "updates", "messages-tuple"], onRunCreated: (run) => (created = run),
    }));
    const names = new Set(parts.map((part) => part.event));
    for (const name of ["metadata", "values", "updates", "messages"]) assert.ok(names.has(name), name);
    assert.equal(parts[0].data.run_id, created.run_id);
    const text = parts.filter((p) => p.event === "messages").map((p) => p.data[0].content).join("");
    assert.match(text, /You said: hello\..*stream\./);
  },
  "the older stream shows questions, and a command answers them": async () => {
    const { thread_id } = await client.threads.create();
    const parts = await collect(client.runs.stream(thread_id, "chat", { input: human("ask"), streamMode: ["values"] }));
    assert.equal(parts.at(-1).data.__interrupt__[0].value.question, "Which year?");
    const values = await client.runs.wait(thread_id, "chat", { command: { resume: "1999" } });
    assert.equal(values.messages.at(-1).content, "The answers are 1999.");
  },
  "a stream can be joined later": async () => {
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, "steps", { input: { name: "j", steps: 5, delay: 0.1 } });
    await sleep(200);
    const parts = await collect(client.runs.joinStream(thread_id, run.run_id, { streamMode: "values" }));
    assert.equal(parts.at(-1).data.items.length, 5);
  },
  "a run without a thread leaves nothing behind": async () => {
    const parts = await collect(client.runs.stream(null, "chat", { input: human("hello"), streamMode: "updates" }));
    assert.ok(parts.some((part) => part.event === "updates"));
    const values = await client.runs.wait(null, "steps", { input: { name: "w", steps: 1 } });
    assert.deepEqual(values.items, ["w:0"]);
  },
  "state is changed by hand and goes on from there": async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "steps", { input: { name: "u", steps: 1 } });
    await client.threads.updateState(thread_id, { values: { items: ["by hand"] }, asNode: "step" });
    assert.deepEqual((await client.threads.getState(thread_id)).values.items, ["u:0", "by hand"]);
  },
  "assistants are the graphs": async () => {
    const found = await client.assistants.search({ graphId: "chat" });
    assert.equal(found.length, 1);
    const same = await client.assistants.get(found[0].assistant_id);
    assert.equal(same.graph_id, "chat");
    const graph = await client.assistants.getGraph("chat");
    assert.ok(graph.nodes.length > 1);
    assert.ok((await client.assistants.getSchemas("chat")).input_schema);
  },
  "the store keeps items by namespace": async () => {
    const space = ["notes", randomUUID()];
    await client.store.putItem(space, "a", { text: "one" });
    assert.equal((await client.store.getItem(space, "a")).value.text, "one");
    assert.deepEqual((await client.store.searchItems(space)).items.map((i) => i.key), ["a"]);
    assert.deepEqual((await client.store.listNamespaces({ prefix: space })).namespaces, [space]);
    await client.store.deleteItem(space, "a");
    assert.deepEqual((await client.store.searchItems(space)).items, []);
  },
  "what belongs to another is not found": async () => {
    const bob = newClient({ defaultHeaders: { "x-user": "bob" } });
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, "steps", { input: { name: "o", steps: 1 } });
    for (const attempt of [
      () => bob.threads.get(thread_id), () => bob.threads.getState(thread_id), () => bob.threads.getHistory(thread_id),
      () => bob.threads.delete(thread_id), () => bob.threads.copy(thread_id), () => bob.runs.get(thread_id, run.run_id),
      () => bob.runs.list(thread_id), () => bob.runs.cancel(thread_id, run.run_id), () => bob.runs.join(thread_id, run.run_id),
      () => bob.runs.create(thread_id, "steps", { input: { name: "b" } }),
    ]) await assert.rejects(attempt, /404/);
    await client.runs.join(thread_id, run.run_id);
    assert.deepEqual((await client.threads.getState(thread_id)).values.items, ["o:0"]);
  },
  "assistants are stored in versions and used by runs": async () => {
    const made = await client.assistants.create({ graphId: "told", name: "First", context: { topic: "one" } });
    const id = made.assistant_id;
    assert.equal((await client.assistants.update(id, { name: "Second", context: { topic: "two" } })).version, 2);
    assert.deepEqual((await client.assistants.getVersions(id)).map(({ version }) => version), [2, 1]);
    assert.deepEqual((await client.runs.wait(null, id, { input: {} })).items, ["topic=two"]);
    assert.equal((await client.assistants.setLatest(id, 1)).name, "First");
    assert.deepEqual((await client.runs.wait(null, id, { input: {} })).items, ["topic=one"]);
    assert.equal(await client.assistants.count({ graphId: "told", name: "nobody's name" }), 0);
    assert.deepEqual(Object.keys(await client.assistants.getSubgraphs("nested")), ["inner"]);
    await client.assistants.delete(id, { deleteThreads: true });
    await assert.rejects(client.assistants.get(id), /404/);
  },
  "a thread's stream has the runs, one after the other": async () => {
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, "steps", { input: { name: "t", steps: 2 } });
    await client.runs.join(thread_id, run.run_id);
    const parts = [];
    for await (const part of client.threads.joinStream(thread_id, { lastEventId: "-", streamMode: ["run_modes"] })) {
      parts.push(part);
      if (part.data.status === "run_done") break;
    }
    assert.equal(parts[0].data.run_id, run.run_id);
    assert.deepEqual(parts.filter(({ event }) => event === "values").at(-1).data.items, ["t:0", "t:1"]);
  },
  "the new stream starts a run and gives its output": async () => {
    const thread = client.threads.stream({ assistantId: "chat" });
    await thread.run.start({ input: human("hello") });
    const output = await thread.output;
    assert.match(output.messages.at(-1).content, /You said: hello\./);
    await thread.close();
  },
  "runs are started together, cancelled together and deleted": async () => {
    const made = await client.runs.createBatch([{ assistantId: "steps", input: { name: "b", steps: 1 } }]);
    assert.equal(made.length, 1);
    const { thread_id } = await client.threads.create();
    const slow = { input: { name: "s", steps: 99, delay: 0.1 } };
    const runs = [await client.runs.create(thread_id, "steps", slow), await client.runs.create(thread_id, "steps", slow)];
    await client.runs.cancelMany({ threadId: thread_id, runIds: runs.map(({ run_id }) => run_id) });
    await until("both to end", async () => (await client.threads.get(thread_id)).status !== "busy");
    const third = await client.runs.create(thread_id, "steps", slow);
    await client.runs.delete(thread_id, third.run_id);
    await until("it to end", async () => (await client.threads.get(thread_id)).status !== "busy");
    assert.deepEqual(await client.threads.prune([thread_id]), { pruned_count: 1 });
    await assert.rejects(client.threads.get(thread_id), /404/);
  },
  "the metadata of a state cannot be changed": async () => {
    const { thread_id } = await client.threads.create();
    await assert.rejects(client.threads.patchState(thread_id, { x: 1 }), /405/);
  },
};
