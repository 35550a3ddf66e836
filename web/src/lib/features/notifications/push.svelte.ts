/** Web Push: the server reaches this browser while no page is open. Nothing is asked before notifications are on. */
import type { Api } from '$lib/protocol/api';
import { registerWorker } from '$lib/service-worker';
import { text } from './text';

/** Read by the service worker, which has no words of its own. */
const WORDS = 'bathysphere-words';
const PLACE = '/push/subscription';

interface OfferWire {
  /** What browsers subscribe to; null where the server sends nothing. */
  public_key: string | null;
}

class Push {
  #state = $state<'on' | 'failed' | null>(null);
  /** One change after the other: who turns it off at once must not be subscribed after that. */
  #last: Promise<void> = Promise.resolve();

  /** Whether the person is told while no page is open; null where nobody offers it, or nobody asked for it. */
  get state(): 'on' | 'failed' | null {
    return this.#state;
  }

  /** Subscribe, or tell the server again whose browser this is. */
  subscribe(api: Api): Promise<void> {
    return this.#then(async () => {
      try {
        this.#state = (await subscribe(api)) ? 'on' : null;
      } catch {
        this.#state = 'failed';
      }
    });
  }

  unsubscribe(api: Api): Promise<void> {
    return this.#then(async () => {
      this.#state = null;
      const subscription = await (await manager())?.getSubscription();
      if (!subscription) return;
      // What the browser forgets, its push service refuses, and the server forgets it then.
      await Promise.allSettled([subscription.unsubscribe(), api.send('DELETE', PLACE, { endpoint: subscription.endpoint })]);
    });
  }

  #then(change: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(change).catch(() => undefined);
    return this.#last;
  }
}

/** Whether the server offers it, and this browser can. */
async function subscribe(api: Api): Promise<boolean> {
  const browser = await manager();
  if (!browser) return false;
  const { public_key: key } = await api.send<OfferWire>('GET', '/push');
  if (!key) return false;
  const words = await caches.open(WORDS);
  await words.put('/push-words', new Response(JSON.stringify(text.news)));
  const before = await browser.getSubscription();
  if (before && keyOf(before) !== key) await before.unsubscribe();
  const subscription = await browser.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await api.send('PUT', PLACE, subscription.toJSON());
  return true;
}

async function manager(): Promise<PushManager | undefined> {
  const { serviceWorker: workers } = navigator;
  if (!workers) return undefined;
  // A page that has just been opened has not registered its worker yet.
  const worker = (await workers.getRegistration()) ?? (await registerWorker());
  return worker && (await workers.ready).pushManager; // which not every browser has
}

/** The server's key that a subscription was made for. */
function keyOf({ options }: PushSubscription): string {
  const bytes = new Uint8Array(options.applicationServerKey ?? new ArrayBuffer(0));
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export const push = new Push();
