// The stock StreamController against the server.
import {
  assert, controller, human, lastText, newClient, settled, sleep, snapshot, texts, until,
} from "./kit.mjs";

const ids = (made) => snapshot(made).interrupts.map((interrupt) => interrupt.id);

export const behaviours = {
  "an answer streams into messages": async () => {
    const made = controller("chat");
    const lengths = new Set();
    made.rootStore.subscribe(() => lengths.add((lastText(made) ?? "").length));
    await made.submit(human("hello"));
    await until("the answer", () => /^ai:You said: hello\. .*stream\.$/.test(lastText(made)));
    assert.equal(snapshot(made).messages.length, 2);
    assert.equal(snapshot(made).error, undefined);
  },
  "a thread made by the client is told of, and so is its run": async () => {
    let threadId, runId, completed;
    const made = controller("chat", {
      onThreadId: (id) => (threadId = id),
      onCreated: ({ runId: id, run_id }) => (runId = id ?? run_id),
      onCompleted: (info) => (completed = info),
    });
    await made.submit(human("hello"));
    await until("the end", () => completed);
    assert.equal(snapshot(made).threadId, threadId);
    assert.equal(completed.reason, "success");
    const run = await newClient().runs.get(threadId, completed.runId);
    assert.equal(run.status, "success");
    assert.ok(runId);
  },
  "a second message goes on with the thread": async () => {
    const made = controller("chat");
    await made.submit(human("hello"));
    await made.submit(human("again"));
    await until("the answer", () => /^ai:You said: again/.test(lastText(made)));
    assert.equal(snapshot(made).messages.length, 4);
  },
  "a reload shows the messages of before": async () => {
    const made = controller("chat");
    await made.submit(human("hello"));
    await until("the answer", () => /stream\.$/.test(lastText(made)));
    const again = controller("chat", { threadId: snapshot(made).threadId });
    await again.hydrate();
    await until("the messages", () => snapshot(again).messages.length === 2);
    assert.deepEqual(texts(again), texts(made));
    assert.equal(snapshot(again).isLoading, false);
  },
  "a thread that is unknown hydrates as a new one": async () => {
    const made = controller("chat", { threadId: crypto.randomUUID() });
    await made.hydrate();
    assert.equal(snapshot(made).error, undefined);
    await made.submit(human("hello"));
    await until("the answer", () => /stream\.$/.test(lastText(made)));
  },
  "a tool call and its result are seen": async () => {
    const made = controller("chat");
    await made.submit(human("add"));
    await until("the answer", () => lastText(made) === "ai:The answers are 5.");
    const [call] = snapshot(made).messages[1].tool_calls;
    assert.deepEqual([call.name, call.args], ["add", { a: 2, b: 3 }]);
    assert.equal(texts(made)[2], "tool:5");
    const calls = snapshot(made).toolCalls;
    assert.equal(calls.length, 1);
    assert.equal(calls[0].name, "add");
  },
  "a question pauses the run and its answer resumes it": async () => {
    const made = controller("chat");
    await made.submit(human("ask"));
    await until("the question", () => ids(made).length === 1);
    await settled(made);
    assert.equal(snapshot(made).interrupt.value.question, "Which year?");
    await made.respond("2024");
    await until("the answer", () => lastText(made) === "ai:The answers are 2024.");
    assert.deepEqual(ids(made), []);
  },
  "parallel questions are answered together": async () => {
    const made = controller("chat");
    await made.submit(human("ask two"));
    await until("the questions", () => ids(made).length === 2);
    await settled(made);
    const answers = snapshot(made).interrupts.map((i) => [i.id, i.value.question === "First?" ? "one" : "two"]);
    await made.respondAll(Object.fromEntries(answers));
    await until("the answer", () => lastText(made) === "ai:The answers are one, two.");
  },
  "parallel questions are answered one after the other, in any order": async () => {
    const made = controller("chat");
    await made.submit(human("ask two"));
    await until("the questions", () => ids(made).length === 2);
    await settled(made);
    const [first, second] = ["First?", "Second?"].map(
      (question) => snapshot(made).interrupts.find((i) => i.value.question === question).id,
    );
    await made.respond("two", { interruptId: second });
    await sleep(100);
    await made.respond("one", { interruptId: first });
    await until("the answer", () => lastText(made) === "ai:The answers are one, two.");
  },
  "browser tools that answer at once both count": async () => {
    const made = controller("chat");
    await made.submit(human("files"));
    await until("the calls", () => ids(made).length === 2);
    await Promise.all(
      snapshot(made).interrupts.map((i) => {
        const call = i.value.toolCall ?? i.value.tool_call;
        return made.respond({ [call.id]: `text of ${call.args.path}` }, { interruptId: i.id });
      }),
    );
    await until("the answer", () => lastText(made) === "ai:The answers are text of a, text of b.");
  },
  "questions of a subagent and of the main agent are answered together": async () => {
    const made = controller("deep");
    await made.submit(human("go both"));
    await until("the questions", () => ids(made).length === 2);
    await settled(made);
    const sub = snapshot(made).interrupts.find((i) => i.value.question === "Sub?");
    assert.match(sub.namespace[0], /^tools:/);
    await made.respondAll(Object.fromEntries(ids(made).map((id) => [id, "yes"])));
    await until("the answer", () => /^ai:Done with go both/.test(lastText(made)));
  },
  "open questions come back after a reload and can be answered there": async () => {
    const made = controller("chat");
    await made.submit(human("ask two"));
    await until("the questions", () => ids(made).length === 2);
    await settled(made);
    await made.dispose();
    const again = controller("chat", { threadId: snapshot(made).threadId });
    await again.hydrate();
    assert.deepEqual(ids(again).sort(), ids(made).sort());
    await again.respondAll(Object.fromEntries(ids(again).map((id) => [id, "x"])));
    await until("the answer", () => lastText(again) === "ai:The answers are x, x.");
  },
  "an answer that does not fit is refused and the question stays": async () => {
    const made = controller("chat");
    await made.submit(human("confirm"));
    await until("the question", () => ids(made).length === 1);
    await settled(made);
    await assert.rejects(made.respond({ approve: "perhaps" }), (error) => error.code === "invalid_argument");
    const [id] = ids(made);
    await made.respond({ approve: true }, { interruptId: id });
    await until("the answer", () => lastText(made) === "ai:The answers are delete: True.");
  },
  "a run that fails says why": async () => {
    const made = controller("failing");
    await made.submit({ name: "x" });
    await until("the error", () => snapshot(made).error);
    assert.ok(snapshot(made).error.message);
    assert.equal(snapshot(made).isLoading, false);
  },
  "stop cancels the run on the server": async () => {
    const made = controller("steps");
    const submitted = made.submit({ name: "s", steps: 100, delay: 0.1 });
    await until("some steps", () => (snapshot(made).values.items ?? []).length >= 2);
    await made.stop();
    await submitted;
    const client = newClient();
    const [run] = await client.runs.list(snapshot(made).threadId);
    await until("the end", async () =>
      (await client.runs.get(run.thread_id, run.run_id)).status === "interrupted");
    const { values } = await client.threads.getState(run.thread_id);
    assert.ok(values.items.length < 90);
  },
  "an enqueued message waits for its turn": async () => {
    const made = controller("steps", { queue: "server" });
    const first = made.submit({ name: "a", steps: 3, delay: 0.2 });
    await until("the first step", () => (snapshot(made).values.items ?? []).length >= 1);
    await made.submit({ name: "b", steps: 1 }, { multitaskStrategy: "enqueue" });
    await first;
    await until("both", () => (snapshot(made).values.items ?? []).length === 4);
    assert.deepEqual(snapshot(made).values.items, ["a:0", "a:1", "a:2", "b:0"]);
  },
  "a second tab sees the run that the first started": async () => {
    const made = controller("steps");
    const submitted = made.submit({ name: "t", steps: 10, delay: 0.1 });
    const threadId = await until("the thread", () => snapshot(made).threadId);
    await until("some steps", () => (snapshot(made).values.items ?? []).length >= 1);
    const tab = controller("steps", { threadId });
    await tab.hydrate();
    assert.equal(snapshot(tab).isLoading, true);
    await submitted;
    await until("the same", () => (snapshot(tab).values.items ?? []).length === 10);
    await settled(tab);
  },
  "a subagent is discovered, with what it was asked and what it found": async () => {
    const made = controller("deep");
    await made.submit(human("go"));
    await until("the subagent", () => [...made.subagentStore.getSnapshot().values()][0]?.status === "complete");
    const [agent] = made.subagentStore.getSnapshot().values();
    assert.equal(agent.id, "call_t");
    assert.equal(agent.taskInput, "look");
    assert.match(JSON.stringify(agent.output), /Done with look/);
  },
  "a message can be edited: the thread forks from before it": async () => {
    const made = controller("chat");
    await made.submit(human("hello"));
    await until("the answer", () => /stream\.$/.test(lastText(made)));
    const threadId = snapshot(made).threadId;
    const history = await newClient().threads.getHistory(threadId);
    const before = history.find((state) => (state.values.messages ?? []).length === 0);
    await made.submit(human("edited"), { forkFrom: before.checkpoint.checkpoint_id });
    await until("the new answer", async () => {
      const { values } = await newClient().threads.getState(threadId);
      return values.messages.length === 2 && values.messages[0].content === "edited";
    });
  },
  "a dropped connection loses nothing and doubles nothing": async () => {
    let dropped = 0;
    const dropping = async (url, init) => {
      const response = await fetch(url, init);
      if (!String(url).endsWith("/stream/events") || dropped >= 4) return response;
      dropped += 1;
      let left = 3000;
      const cut = new TransformStream({
        transform(chunk, out) {
          left -= chunk.length;
          if (left < 0) return out.error(new Error("the network went away"));
          out.enqueue(chunk);
        },
      });
      return new Response(response.body.pipeThrough(cut), response);
    };
    const made = controller("steps", {
      client: newClient({ callerOptions: { fetch: dropping, maxRetries: 0 } }),
      fetch: dropping,
      reconnectDelayMs: () => 30,
    });
    await made.submit({ name: "d", steps: 12, delay: 0.05 });
    await until("all", () => (snapshot(made).values.items ?? []).length === 12);
    assert.ok(dropped >= 2, `dropped ${dropped} times`);
    assert.equal(new Set(snapshot(made).values.items).size, 12);
  },
};
