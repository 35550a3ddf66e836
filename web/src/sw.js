// The service worker: files of this build from the cache, the page from the server when it answers.
// Fonts and the weights of search by meaning are kept once they were used. Calls to the API are never touched.
const FILES = __FILES__;
const WEIGHTS = __WEIGHTS__;
const CACHE = `bathysphere-${__BUILD__}`;
const HEAVY = 'bathysphere-weights'; // outlives a build: their names change when they do

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (event) => {
  const stale = async () => {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => name !== CACHE && name !== HEAVY).map((name) => caches.delete(name)));
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
