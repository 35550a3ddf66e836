// Browser ("headless") tools: the stock SDK finds the calls, runs them here and resumes the run.
import {
  applyHeadlessToolResumeCommand, executeHeadlessTool, flushPendingHeadlessToolInterrupts,
  isHeadlessToolInterrupt, parseHeadlessToolInterruptPayload, scheduleCoalescedHeadlessToolFlush,
} from "@langchain/langgraph-sdk";
import { Device } from "./device.mjs";
import { assert, controller, human, lastText, newClient, settled, sleep, snapshot, until } from "./kit.mjs";

const FILES = { draft: "Some old words.", f0: "zero", f1: "one", f2: "two", f3: "three", f4: "four" };
const open = (made) => snapshot(made).interrupts;
const asks = (made) => open(made).filter((i) => !isHeadlessToolInterrupt(i.value));
const callOf = (interrupt) => parseHeadlessToolInterruptPayload(interrupt.value).toolCall;

// What LangChain's own bindings do on every change: run what is new and resume with it.
// Without `coalesce` each change that brings calls is answered by a resume of its own.
function runsTools(made, tools, { coalesce = true } = {}) {
  const handled = new Set();
  const posted = [];
  const phases = [];
  let taken = 0;
  const flush = () => flushPendingHeadlessToolInterrupts(
    { __interrupt__: open(made) }, tools, handled, {
      onTool: ({ phase, name }) => phases.push(`${name} ${phase}`),
      resumeSubmit: async (command) => {
        posted.push(command);
        await applyHeadlessToolResumeCommand(made, command);
        taken += Object.keys(command.resume).length;
      },
    });
  made.rootStore.subscribe(coalesce ? () => scheduleCoalescedHeadlessToolFlush(handled, flush) : flush);
  return { posted, phases, taken: () => taken };
}

function tethered({ device = new Device(FILES), tools = device.tools(), ...options } = {}) {
  const made = controller("tether");
  return { made, device, ...runsTools(made, tools, options) };
}

// `c1=… | c2=…` as an object.
const results = (made) =>
  Object.fromEntries((lastText(made) ?? "").replace(/^ai:/, "").split(" | ").map((part) => part.split(/=(.*)/s).slice(0, 2)));
// Between two runs of a thread nothing is loading, though the second one's words may have begun.
async function isWhole(made) {
  const { values } = await newClient().threads.getState(snapshot(made).threadId);
  return lastText(made) === `ai:${values.messages.at(-1).content}`;
}
const answered = (made, ...calls) =>
  until(`results of ${calls}`, async () =>
    calls.every((call) => call in results(made)) && !snapshot(made).isLoading &&
    await isWhole(made) && results(made), 60000);
const is = (interrupt, call) => interrupt.value.tool_call_id === call;

async function rests(made) {
  const client = newClient();
  await until("the thread to rest", async () =>
    (await client.threads.get(snapshot(made).threadId)).status === "idle");
  assert.deepEqual(open(made), []);
}

export const behaviours = {
  "two tools of one step run, each once, and both results arrive": async () => {
    const { made, device, phases } = tethered();
    await made.submit(human("two"));
    const { c1, c2 } = await answered(made, "c1", "c2");
    assert.match(c1, /^draft: draft/);
    assert.match(c2, /Some old words\.$/);
    assert.deepEqual([...device.ran].sort(), ["list_user_files", "read_user_file"]);
    assert.equal(phases.filter((phase) => phase.endsWith("success")).length, 2);
    await rests(made);
  },
  "resumes that are posted apart are put together": async () => {
    const { made, device, posted } = tethered({ coalesce: false });
    device.delays.read_user_file = 150;
    await made.submit(human("two"));
    await answered(made, "c1", "c2");
    assert.equal(device.ran.length, 2);
    assert.ok(posted.length >= 1);
    await rests(made);
    assert.ok((await newClient().runs.list(snapshot(made).threadId)).length <= 1 + posted.length);
  },
  "five tools at once each give their own result": async () => {
    const { made, device } = tethered({ coalesce: false });
    await made.submit(human("five"));
    const found = await answered(made, "c0", "c1", "c2", "c3", "c4");
    for (const [n, text] of ["zero", "one", "two", "three", "four"].entries())
      assert.ok(found[`c${n}`].endsWith(text), found[`c${n}`]);
    assert.equal(device.ran.length, 5);
    await rests(made);
  },
  "a tool that throws is an error result, and its sibling counts": async () => {
    const { made, phases } = tethered();
    await made.submit(human("throws"));
    const { c1, c2 } = await answered(made, "c1", "c2");
    assert.equal(c1, "The person's device says: no document missing");
    assert.match(c2, /^draft/);
    assert.ok(phases.includes("read_user_file error"));
    const { values } = await newClient().threads.getState(snapshot(made).threadId);
    assert.equal(values.messages.find((m) => m.tool_call_id === "c1").status, "error");
  },
  "a tool the browser does not have is an error result": async () => {
    const device = new Device(FILES);
    const { made } = tethered({ device, tools: device.tools("list_user_files") });
    await made.submit(human("unknown"));
    const { c1 } = await answered(made, "c1", "c2");
    assert.match(c1, /Headless tool "glob_user_files" is not registered/);
    await rests(made);
  },
  "a tool inside a subagent runs here": async () => {
    const { made, device } = tethered();
    await made.submit(human("one below"));
    const { t1 } = await answered(made, "t1");
    assert.match(t1, /^s1=.*Some old words\.$/s);
    assert.deepEqual(device.ran, ["read_user_file"]);
    await rests(made);
  },
  "tools of the main agent and of two subagents run at once": async () => {
    const { made, device } = tethered({ coalesce: false });
    await made.submit(human("all over"));
    const { t1, s2, t2 } = await answered(made, "m1", "t1", "s2", "t2");
    assert.match(t1, /^s1=.*one$/s);
    assert.match(s2, /two$/);
    assert.match(t2, /^s3=draft/);
    assert.equal(device.ran.length, 4);
    await rests(made);
  },
  "browser tools, then a question, then a subagent": async () => {
    const { made, device } = tethered();
    await made.submit(human("in a row"));
    const [question] = await until("the question", () => asks(made).length === 1 && asks(made));
    assert.deepEqual(question.value.options.map(({ id }) => id), ["a", "b"]);
    await settled(made);
    await made.respond({ selected: ["b"] }, { interruptId: question.id });
    const { c3, t1 } = await answered(made, "c1", "c2", "c3", "t1");
    assert.equal(c3, "The person chose: The end");
    assert.match(t1, /Some old words/);
    assert.deepEqual(device.ran.filter((name) => name === "read_user_file").length, 2);
    await rests(made);
  },
  "calls gathered until the run has settled are answered in one go": async () => {
    const device = new Device(FILES);
    const made = controller("tether");
    await made.submit(human("all over"));
    await until("all calls", () => open(made).length === 4);
    await settled(made);
    await sleep(30);
    const answers = await Promise.all(open(made).map(async (interrupt) => {
      const { id, name, args } = callOf(interrupt);
      const tool = device.tools().find((entry) => entry.tool.name === name);
      return [interrupt.id, { [id]: (await executeHeadlessTool(tool, args)).result }];
    }));
    await made.respondAll(Object.fromEntries(answers));
    await answered(made, "m1", "t1", "t2");
    await rests(made);
    assert.equal((await newClient().runs.list(snapshot(made).threadId)).length, 2);
  },
  "a reload finds the open calls and runs them": async () => {
    const made = controller("tether");
    await made.submit(human("all over"));
    await until("all calls", () => open(made).length === 4);
    await settled(made);
    await made.dispose();
    const device = new Device(FILES);
    const again = controller("tether", { threadId: snapshot(made).threadId });
    runsTools(again, device.tools());
    await again.hydrate();
    await answered(again, "m1", "t1", "t2");
    assert.equal(device.ran.length, 4);
    await rests(again);
  },
  "a reload after one of two calls was answered runs only the other": async () => {
    const device = new Device(FILES);
    const made = controller("tether");
    await made.submit(human("two"));
    await until("both calls", () => open(made).length === 2);
    await settled(made);
    const list = open(made).find((interrupt) => callOf(interrupt).id === "c1");
    await made.respond({ c1: device.list_user_files() }, { interruptId: list.id });
    await made.dispose();
    const again = controller("tether", { threadId: snapshot(made).threadId });
    runsTools(again, device.tools());
    await again.hydrate();
    await answered(again, "c1", "c2");
    assert.deepEqual(device.ran, ["read_user_file"]);
    await rests(again);
  },
  "two tabs run the same calls, and each counts once": async () => {
    const { made, device } = tethered();
    device.delays.read_user_file = 100;
    await made.submit(human("two"));
    const tab = controller("tether", { threadId: snapshot(made).threadId });
    runsTools(tab, device.tools());
    await tab.hydrate();
    await answered(made, "c1", "c2");
    await rests(made);
    const { values } = await newClient().threads.getState(snapshot(made).threadId);
    assert.deepEqual(values.messages.map((m) => m.type), ["human", "ai", "tool", "tool", "ai"]);
  },
  "an answer goes under its call's id, and nothing else is taken": async () => {
    const made = controller("tether");
    const device = new Device(FILES);
    await made.submit(human("two"));
    await until("both calls", () => open(made).length === 2);
    await settled(made);
    const list = open(made).find((interrupt) => callOf(interrupt).id === "c1");
    for (const wrong of [device.list_user_files(), { c2: device.list_user_files() }, { c1: "text" }, null])
      await assert.rejects(made.respond(wrong, { interruptId: list.id }), (error) => error.code === "invalid_argument");
    await made.respondAll(Object.fromEntries(open(made).map((interrupt) => {
      const { id, name, args } = callOf(interrupt);
      return [interrupt.id, { [id]: device[name](args) }];
    })));
    await answered(made, "c1", "c2");
    await rests(made);
  },
  "all kinds of questions in one step, answered in any order": async () => {
    const { made, device } = tethered({ coalesce: false });
    await made.submit(human("everything"));
    await until("the questions", () => asks(made).length === 3);
    await settled(made);
    const [whom, approval, long] = ["c2", "c3", "s1"].map((call) => asks(made).find((i) => is(i, call)));
    assert.equal(approval.value.type, "tool_approval");
    await made.respond({ response: "two pages" }, { interruptId: long.id });
    await made.respond({ type: "edit", edited_action: { name: "send", args: { to: "Bob" } } }, { interruptId: approval.id });
    await made.respond({ response: "a friend" }, { interruptId: whom.id });
    const { c1, c2, c3, t1 } = await answered(made, "c1", "c2", "c3", "t1");
    assert.match(c1, /Some old words/);
    assert.equal(c2, "a friend");
    assert.match(c3, /sent to Bob$/);
    assert.match(t1, /s1=two pages/);
    assert.equal(device.ran.length, 2);
    await rests(made);
  },
  "documents are listed, found, read, searched, patched and written on the device": async () => {
    const { made, device } = tethered();
    await made.submit(human("documents"));
    const { c2, c4, c5, c6, c7 } = await answered(made, "c1", "c2", "c3", "c4", "c5", "c6", "c7");
    assert.match(c2, /^draft: draft \(markdown, 15 characters\)$/);
    assert.match(c4, /Some old words/);
    assert.match(c5, /line 1: Some old words/);
    assert.deepEqual([c6, c7], ["Written (draft).", "Written (notes)."]);
    assert.equal(device.files.get("draft").text, "Some new words.");
    assert.equal(device.files.get("notes").text, "A note.");
    const { values } = await newClient().threads.getState(snapshot(made).threadId);
    assert.deepEqual([...new Set(values.disclosures.map((d) => d.file))], ["draft"]);
  },
  "a patch of a document that was edited meanwhile is refused and tried again": async () => {
    const device = new Device(FILES);
    const tools = device.tools();
    const patch = tools.find((entry) => entry.tool.name === "patch_user_file");
    const execute = patch.execute;
    let edits = 0;
    patch.execute = (args) => {
      if (edits++ === 0) device.edit("draft", "Mine now, with old words.");
      return execute(args);
    };
    const { made } = tethered({ device, tools });
    await made.submit(human("conflict"));
    const { c2, c3 } = await answered(made, "c1", "c2", "c3");
    assert.match(c2, /nothing was changed\. It now reads:\nMine now, with old words\.$/);
    assert.equal(c3, "Written (draft).");
    assert.equal(device.files.get("draft").text, "Mine now, with new words.");
  },
  "a message instead of answers keeps what the tools gave": async () => {
    const { made, taken } = tethered();
    await made.submit(human("everything"));
    await until("the questions", () => asks(made).length === 3);
    await settled(made);
    await until("what the tools gave", () => taken() === 2);
    await made.submit(human("never mind"));
    await until("the answer", () => lastText(made) === "ai:heard never mind");
    const { values } = await newClient().threads.getState(snapshot(made).threadId);
    const result = (call) => values.messages.find((m) => m.tool_call_id === call).content;
    assert.match(result("c1"), /Some old words/);
    assert.match(result("c2"), /did not complete/);
    assert.match(result("t1"), /Stopped before it was done.*f1.*one/s);
    await rests(made);
  },
};
