// Loaded into the scripted model server before it starts (`node --import`): a tether, an ear and a
// short memory.
//
// The tether: the server ends when its standard input closes, so it never outlives its test run.
// The ear: every request is written, as it came over the wire, as one JSON line to the file that
// BATHYSPHERE_REQUESTS names. The server's own journal translates requests and cuts them at 64 KB.
// The short memory: no connection is kept, so clients that are never closed (LangChain caches them)
// leave no open sockets behind, which a test run with warnings as errors would trip over.

import { appendFileSync } from "node:fs";
import diagnostics from "node:diagnostics_channel";

process.stdin.on("end", () => process.exit(0)).resume();

diagnostics.subscribe("http.server.request.start", ({ request, response }) => {
  closeAfter(response);
  if (request.url.startsWith("/__aimock")) return;
  const parts = [];
  const push = request.push;
  request.push = function (part, ...rest) {
    if (part === null) write(request, Buffer.concat(parts).toString());
    else parts.push(part);
    return push.call(this, part, ...rest);
  };
});

function write({ method, url, headers }, text) {
  const line = JSON.stringify({ method, path: url, headers, text });
  appendFileSync(process.env.BATHYSPHERE_REQUESTS, line + "\n");
}

function closeAfter(response) {
  response.shouldKeepAlive = false;
  const setHeader = response.setHeader;
  response.setHeader = function (name, value) {
    return setHeader.call(this, name, /^connection$/i.test(name) ? "close" : value);
  };
}
