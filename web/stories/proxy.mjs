// A proxy that lets everything through to one origin, and remembers what was sent.
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
