/** How much of the browser's storage is used, and whether the browser may delete it. */
export interface StorageUsage {
  used: number;
  quota: number;
  isPersistent: boolean;
}

export async function estimateStorage(): Promise<StorageUsage | null> {
  if (!('storage' in navigator) || !navigator.storage.estimate) return null;
  const [{ usage = 0, quota = 0 }, isPersistent] = await Promise.all([
    navigator.storage.estimate(),
    navigator.storage.persisted?.() ?? false,
  ]);
  return { used: usage, quota, isPersistent };
}

/** Ask the browser to keep what is here even when storage runs low. */
export async function persist(): Promise<boolean> {
  return (await navigator.storage?.persist?.()) ?? false;
}
