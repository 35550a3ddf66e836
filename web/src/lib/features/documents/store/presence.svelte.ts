/** Whether this browser may have documents, known without loading their database. */
export const DATABASE = 'bathysphere';

class Presence {
  isLikely = $state(false);

  async look(): Promise<void> {
    const found = await globalThis.indexedDB?.databases?.().catch(() => []);
    if (found?.some(({ name }) => name === DATABASE)) this.isLikely = true;
  }
}

let shared: Presence | undefined;

/** The one of this page. */
export function usePresence(): Presence {
  shared ??= new Presence();
  return shared;
}
