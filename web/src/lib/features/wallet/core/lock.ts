/** One thing at a time, in all tabs of this browser. */
let turn: Promise<unknown> = Promise.resolve();

/** Run when nobody else does. Where there are no locks, tables are checked before they are written. */
export function withLock<T>(run: () => Promise<T>): Promise<T> {
  if (typeof navigator !== 'undefined' && 'locks' in navigator) {
    return navigator.locks.request('bathysphere wallet', run);
  }
  const mine = turn.then(run, run);
  turn = mine.catch(() => undefined);
  return mine;
}
