// A proxy that lets everything through to one origin, and remembers what was sent.
import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';

export async function recordingProxy(origin) {
  const sent = [];
  const proxy = createServer((asked, answer) => {
    const parts = [];
    asked.on('data', (part) => parts.push(part));
    asked.on('end', () => {
      const body = Buffer.concat(parts);
      sent.push({ method: asked.method, url: asked.url, headers: JSON.stringify(asked.headers), body: body.toString() });
      if (new URL(asked.url).origin !== origin) return answer.writeHead(502).end();
      const onward = request(asked.url, { method: asked.method, headers: asked.headers }, (came) => {
        answer.writeHead(came.statusCode, came.headers);
        came.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      answer.on('close', () => onward.destroy());
      onward.end(body);
    });
  });
  proxy.on('connect', (asked, socket) => {
    sent.push({ method: 'CONNECT', url: `https://${asked.url}/`, headers: '', body: '' });
    socket.end('HTTP/1.1 502 No\r\n\r\n');
  });
  await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
  const close = () => (proxy.closeAllConnections(), proxy.close());
  return { sent, close, server: `http://127.0.0.1:${proxy.address().port}` };
}

/** The passages of documents in requests, which must all be answers to calls of an agent. */
export function passagesIn(requests) {
  return requests.flatMap(({ method, url: address, body }) => {
    assert.match(`${method} ${new URL(address).pathname}`, /^POST \/threads\/[^/]+\/commands$/);
    const { method: name, params } = JSON.parse(body);
    assert.equal(name, 'input.respond');
    return textsOf(params);
  });
}

/** Every passage in an answer: what stands under `text` beside a document's id, and titles. */
function textsOf(value) {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (value === null || typeof value !== 'object') return [];
  if (typeof value.text === 'string' && 'file_id' in value) return [value.text];
  if (Array.isArray(value.files)) return [value.files.map(({ title }) => title).join('\n')];
  return Object.values(value).flatMap(textsOf);
}
