// The stock REST client: every method of its crons client, and webhooks of runs.
import { createServer } from "node:http";
import { assert, newClient, randomUUID, until } from "./kit.mjs";

const client = newClient();
const MORNINGS = "0 9 * * mon-fri";
const STEP = { name: "tick", steps: 1 };

export const behaviours = {
  "a schedule is made, found, counted, changed and deleted": async () => {
    const metadata = { mark: randomUUID() };
    const cron = await client.crons.create("steps", {
      schedule: MORNINGS, input: STEP, metadata, timezone: "Europe/Berlin", onRunCompleted: "keep",
    });
    assert.equal(cron.schedule, MORNINGS);
    assert.equal(cron.thread_id, null);
    assert.ok(new Date(cron.next_run_date) > new Date());
    assert.equal(await client.crons.count({ metadata }), 1);
    const found = await client.crons.search({ metadata, enabled: true, sortBy: "next_run_date", sortOrder: "asc" });
    assert.deepEqual(found, [cron]);
    assert.equal(found[0].on_run_completed, "keep");
    const changed = await client.crons.update(cron.cron_id, { schedule: "0 10 * * *", enabled: false });
    assert.deepEqual([changed.schedule, changed.enabled, changed.timezone], ["0 10 * * *", false, "Europe/Berlin"]);
    await client.crons.delete(cron.cron_id);
    assert.deepEqual(await client.crons.search({ metadata }), []);
    await assert.rejects(client.crons.delete(cron.cron_id), /404/);
  },
  "a schedule of a thread runs on it": async () => {
    const { thread_id } = await client.threads.create();
    const cron = await client.crons.createForThread(thread_id, "steps", { schedule: "* * * * * *", input: STEP });
    assert.equal(cron.thread_id, thread_id);
    const runs = await until("two runs", async () => {
      const ended = await client.runs.list(thread_id, { status: "success" });
      return ended.length >= 2 && ended;
    });
    await client.crons.delete(cron.cron_id);
    assert.ok(runs.every((run) => run.metadata.cron_id === cron.cron_id));
  },
  "a schedule that is wrong is refused by its field": async () => {
    await assert.rejects(client.crons.create("steps", { schedule: "often" }), /422.*schedule/s);
    await assert.rejects(client.crons.create("steps", { schedule: MORNINGS, timezone: "Nowhere" }), /422.*timezone/s);
    await assert.rejects(client.crons.create("nobody", { schedule: MORNINGS }), /404/);
  },
  "another's schedule is not found": async () => {
    const bob = newClient({ defaultHeaders: { "x-user": "bob" } });
    const cron = await client.crons.create("steps", { schedule: MORNINGS, metadata: { mark: randomUUID() } });
    await assert.rejects(bob.crons.update(cron.cron_id, { enabled: false }), /404/);
    await assert.rejects(bob.crons.delete(cron.cron_id), /404/);
    assert.equal(await bob.crons.count({ metadata: cron.metadata }), 0);
    await client.crons.delete(cron.cron_id);
  },
  "a run tells its webhook when it has ended": async () => {
    const told = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        told.push({ headers: request.headers, body: JSON.parse(body) });
        response.end();
      });
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { thread_id } = await client.threads.create();
      const webhook = `http://127.0.0.1:${server.address().port}/hook`;
      const run = await client.runs.create(thread_id, "steps", { input: STEP, webhook });
      await until("the webhook", () => told.length > 0);
      assert.equal(told[0].body.run_id, run.run_id);
      assert.deepEqual(told[0].body.values.items, ["tick:0"]);
      assert.match(told[0].headers["webhook-signature"], /^v1,/);
    } finally {
      server.close();
    }
  },
};
