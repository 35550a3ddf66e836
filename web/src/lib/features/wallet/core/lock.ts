/** One thing at a time, in all tabs of this browser. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Run when nobody else does under the same name. Where there are no locks, tables are checked before they
 * are written. What runs must not ask for the same name again.
 */
export function withLock<T>(run: () => Promise<T>, name = 'bathysphere wallet'): Promise<T> {
  if (typeof navigator !== 'undefined' && 'locks' in navigator) return navigator.locks.request(name, run);
  const turn = turns.get(name) ?? Promise.resolve();
  const mine = turn.then(run, run);
  turns.set(name, mine.catch(() => undefined));
  return mine;
}
