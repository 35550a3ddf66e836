// A run ends while no page is open: the server tells the browser's push service, and the service worker the person.
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer } from 'node:http';
import { ask, assert, eventually, open, says, story, url } from './kit.mjs';

const keys = createECDH('prime256v1');
keys.generateKeys();
const auth = randomBytes(16);
const received = [];
const service = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  received.push({ headers: request.headers, body: Buffer.concat(parts) });
  response.writeHead(201).end();
});
await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve));
const endpoint = `http://127.0.0.1:${service.address().port}/browser`;

await story(async ({ page, context }) => {
  await context.grantPermissions(['notifications'], { origin: url });
  await context.addInitScript(pretend, { endpoint, p256dh: keys.getPublicKey('base64url'), auth: auth.toString('base64url') });
  await open(page);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
  await turn(page, 'You are also told while this page is closed.');

  await open(page);
  await ask(page, 'Dive');
  await page.waitForURL(/\/c\//);
  const path = new URL(page.url()).pathname;
  await page.goto('about:blank');
  const [told] = await eventually(() => (assert.equal(received.length, 1), received), 30);
  checkSender(told.headers);
  const message = decrypt(told.body);
  assert.deepEqual(JSON.parse(message), { thread: path.slice(3), news: 'done' });

  const deliver = await deliverer(context, page);
  await deliver(message);
  await page.goto(`${url}/settings`);
  await eventually(async () => assert.deepEqual(await shown(page), ['An answer is ready: ']));
  await deliver(message);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal((await shown(page)).length, 1, 'the same news takes the place of the one before');
  await click(context);
  await page.waitForURL(`${url}${path}`);
  await says(page, 'Down we go.');
  assert.deepEqual(await shown(page), []);

  await deliver(message);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.deepEqual(await shown(page), [], 'who looks at the conversation is not disturbed');
  const forgotten = page.waitForResponse((response) => response.request().method() === 'DELETE' && response.ok());
  await turn(page, 'A notification never shows what was written.');
  await forgotten;
});
service.close();

/** A browser without a push service: what it subscribes to is our own. */
function pretend({ endpoint, ...keys }) {
  const KEPT = 'story.subscription';
  const view = (key) => ({
    endpoint,
    options: { applicationServerKey: Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0)).buffer },
    toJSON: () => ({ endpoint, expirationTime: null, keys }),
    unsubscribe: async () => (localStorage.removeItem(KEPT), true),
  });
  PushManager.prototype.getSubscription = async () => (localStorage.getItem(KEPT) ? view(localStorage.getItem(KEPT)) : null);
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
    localStorage.setItem(KEPT, applicationServerKey);
    return view(applicationServerKey);
  };
}

/** Turn notifications on or off, and see what the page says then. */
async function turn(page, hint) {
  await page.goto(`${url}/settings`);
  await page.getByRole('switch', { name: 'Notify me' }).click();
  await page.getByText(hint).waitFor();
  await eventually(async () => assert.equal(await page.getByText('while this page is closed').count(), hint.includes('closed') ? 1 : 0));
}

/** VAPID: signed by the key that the browser was asked to subscribe to, for this push service. */
function checkSender({ authorization, ...headers }) {
  const { t, k } = Object.fromEntries(authorization.replace(/^vapid /, '').split(/, ?/).map((part) => part.split(/=(.*)/)));
  const point = Buffer.from(k, 'base64url');
  const jwk = { kty: 'EC', crv: 'P-256', x: point.subarray(1, 33).toString('base64url'), y: point.subarray(33).toString('base64url') };
  const [head, claims, signature] = t.split('.');
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' };
  assert.ok(verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url')));
  assert.equal(JSON.parse(Buffer.from(claims, 'base64url')).aud, new URL(endpoint).origin);
  assert.equal(headers['content-encoding'], 'aes128gcm');
}

/** RFC 8291. */
function decrypt(body) {
  const [salt, sender, text] = [body.subarray(0, 16), body.subarray(21, 86), body.subarray(86)];
  const derive = (secret, by, info, length) => Buffer.from(hkdfSync('sha256', secret, by, info, length));
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), keys.getPublicKey(), sender]);
  const shared = derive(keys.computeSecret(sender), auth, info, 32);
  const key = derive(shared, salt, 'Content-Encoding: aes128gcm\0', 16);
  const cipher = createDecipheriv('aes-128-gcm', key, derive(shared, salt, 'Content-Encoding: nonce\0', 12));
  cipher.setAuthTag(text.subarray(-16));
  const padded = Buffer.concat([cipher.update(text.subarray(0, -16)), cipher.final()]);
  return padded.subarray(0, padded.lastIndexOf(2)).toString();
}

/** Give the real service worker a message, as the browser does when its push service has one. */
async function deliverer(context, page) {
  const cdp = await context.newCDPSession(page);
  const registrationId = new Promise((resolve) => {
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => registrations[0] && resolve(registrations[0].registrationId));
  });
  await cdp.send('ServiceWorker.enable');
  return async (data) => cdp.send('ServiceWorker.deliverPushMessage', { origin: url, registrationId: await registrationId, data });
}

function shown(page) {
  return page.evaluate(async () => {
    const worker = await navigator.serviceWorker.ready;
    return (await worker.getNotifications()).map(({ title, body }) => `${title}: ${body}`);
  });
}

/** Nobody can click on a notification without a screen; only the person's click may bring a page to the front. */
async function click(context) {
  const [worker] = context.serviceWorkers();
  await worker.evaluate(async () => {
    WindowClient.prototype.focus = async () => undefined;
    ExtendableEvent.prototype.waitUntil = () => undefined;
    const [notification] = await self.registration.getNotifications();
    self.dispatchEvent(new NotificationEvent('notificationclick', { notification }));
  });
}
