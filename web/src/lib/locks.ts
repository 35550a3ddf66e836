/** One tab at a time, by the browser's Web Locks. A browser without them runs everything at once. */

/** Run unless another tab holds the lock; whether it ran. */
export async function runIfFree(name: string, run: () => Promise<void>): Promise<boolean> {
  if (!('locks' in navigator)) {
    await run();
    return true;
  }
  return navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await run();
    return lock !== null;
  });
}

/** Run as soon as no other tab holds the lock; `hasWaited` when one did. */
export async function runWhenFree(
  name: string,
  signal: AbortSignal,
  run: (hasWaited: boolean) => Promise<void>,
): Promise<void> {
  const isDone = await runIfFree(name, () => run(false));
  if (!isDone) await navigator.locks.request(name, { signal }, () => run(true));
}
