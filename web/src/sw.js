// The service worker: files of this build from the cache, the page from the server when it answers.
// Fonts, languages and the weights of search by meaning are kept once they were used. Calls to the API are never touched.
const FILES = __FILES__;
const WEIGHTS = __WEIGHTS__;
const CACHE = `bathysphere-${__BUILD__}`;
const HEAVY = 'bathysphere-weights'; // outlives a build: their names change when they do
const WORDS = 'bathysphere-words'; // what the page calls news, in its language (features/notifications/push.svelte.ts)

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (event) => {
  const stale = async () => {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => ![CACHE, HEAVY, WORDS].includes(name)).map((name) => caches.delete(name)));
    const heavy = await caches.open(HEAVY);
    const old = (await heavy.keys()).filter(({ url }) => !WEIGHTS.includes(new URL(url).pathname));
    await Promise.all(old.map((request) => heavy.delete(request)));
    await self.clients.claim();
  };
  event.waitUntil(stale());
});

async function weights(request) {
  const heavy = await caches.open(HEAVY);
  const found = await heavy.match(request);
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok) await heavy.put(request, answer.clone());
  return answer;
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== self.location.origin) return;
  if (request.mode === 'navigate') {
    event.respondWith(fetch(request).catch(() => caches.match('/')));
  } else if (WEIGHTS.includes(url.pathname)) {
    event.respondWith(weights(request));
  } else if (FILES.includes(url.pathname)) {
    event.respondWith(caches.match(url.pathname).then((found) => found ?? fetch(request)));
  }
});

/** The server tells that a run has ended or waits. */
self.addEventListener('push', (event) => {
  const { thread, news } = event.data.json();
  const path = `/c/${thread}`;
  const show = async () => {
    if (await isLookedAt(path)) return;
    const kept = await caches.match('/push-words', { cacheName: WORDS });
    const title = (kept && (await kept.json())[news]) ?? 'Bathysphere';
    await self.registration.showNotification(title, { tag: thread, icon: '/icon.svg', data: { path } });
  };
  event.waitUntil(show());
});

/** Whether a page in front shows this. Each is asked: here, a page has the address that it was loaded from. */
async function isLookedAt(path) {
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const answer = (page) =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => resolve(data);
      setTimeout(() => resolve(false), 500); // one that sleeps
      page.postMessage({ looksAt: path }, [port2]);
    });
  return (await Promise.all(pages.map(answer))).includes(true);
}

/** A click on a notification goes to its conversation, in a page that is open if there is one. */
self.addEventListener('notificationclick', (event) => {
  const { path } = event.notification.data;
  event.notification.close();
  const show = async () => {
    const [page] = await self.clients.matchAll({ type: 'window' });
    if (!page) return self.clients.openWindow(path);
    await page.focus();
    page.postMessage({ open: path });
  };
  event.waitUntil(show());
});
