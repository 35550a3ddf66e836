/** The answer to a question to the database, kept up to date for as long as a component is shown. */
import { liveQuery } from 'dexie';

/** `ask` reads what it depends on, and gives the question. */
export function live<T>(ask: () => () => Promise<T>, first: T): { readonly value: T } {
  let value = $state.raw(first);
  $effect(() => {
    const subscription = liveQuery(ask()).subscribe((found) => (value = found));
    return () => subscription.unsubscribe();
  });
  return {
    get value() {
      return value;
    },
  };
}
