/** Register the worker that keeps the app for offline use; undefined where the browser refuses it (private windows). */
export const registerWorker = (): Promise<ServiceWorkerRegistration | undefined> =>
  navigator.serviceWorker.register('/sw.js').catch(() => undefined);
