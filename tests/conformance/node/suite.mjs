// Runs behaviours, some at a time, and prints one line of JSON for each: `node suite.mjs [name…]`.
import * as controller from "./controller.mjs";
import * as headless from "./headless.mjs";
import * as wire from "./wire.mjs";
import * as client from "./client.mjs";
import * as crons from "./crons.mjs";

const suites = { controller, headless, wire, client, crons };
const all = Object.entries(suites).flatMap(([suite, { behaviours }]) =>
  Object.entries(behaviours).map(([name, run]) => ({ name: `${suite}: ${name}`, run })));
if (process.argv[2] === "--list") {
  for (const { name } of all) console.log(name);
  process.exit(0);
}
process.on("unhandledRejection", () => {});
const wanted = process.argv.slice(2);
const queue = all.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
async function worker() {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const start = Date.now();
    let error = null;
    try {
      await Promise.race([
        next.run(),
        new Promise((_, reject) => setTimeout(() => reject(new Error("took over 80 s")), 80000)),
      ]);
    } catch (thrown) {
      error = String(thrown?.stack ?? thrown);
    }
    console.log(JSON.stringify({ name: next.name, error, ms: Date.now() - start }));
  }
}
await Promise.all(Array.from({ length: 3 }, worker));
process.exit(0);
