// Runs the script of the verifier page in Node, over proofs given as JSON lines on stdin:
// {"path": file, "flips": [[place, bit], …]} answers {"ok", "failed", "passed_flips"}.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const page = readFileSync(process.argv[2], "utf8");
(0, eval)(page.match(/<script>([\s\S]*?)<\/script>/)[1]);
const verify = globalThis.bathysphereVerify;

for await (const line of createInterface({ input: process.stdin })) {
  const { path, key = "", flips = [] } = JSON.parse(line);
  const data = new Uint8Array(readFileSync(path));
  const result = await verify(data, key);
  const passed = [];
  for (const [place, bit] of flips) {
    data[place] ^= 1 << bit;
    if ((await verify(data, key)).ok) passed.push(place);
    data[place] ^= 1 << bit;
  }
  const failed = result.checks.find((check) => check.state === "failed");
  console.log(JSON.stringify({
    ok: result.ok, is_proof: result.is_proof,
    failed: failed?.name ?? null,
    detail: failed?.detail ?? null,
    fingerprint: result.fingerprint,
    passed_flips: passed,
  }));
}
