/** How much room there is, and whether the browser may throw it away. */
export interface Room {
  used: number;
  quota: number;
  isPersistent: boolean;
}

export async function room(): Promise<Room | null> {
  if (!('storage' in navigator) || !navigator.storage.estimate) return null;
  const [{ usage = 0, quota = 0 }, isPersistent] = await Promise.all([
    navigator.storage.estimate(),
    navigator.storage.persisted?.() ?? false,
  ]);
  return { used: usage, quota, isPersistent };
}

/** Ask the browser to keep what is here even when room gets scarce. */
export async function persist(): Promise<boolean> {
  return (await navigator.storage?.persist?.()) ?? false;
}

const STORED = 'bathysphere.backup';
const WEEK_MS = 7 * 24 * 3_600_000;

export function noteBackup(at: number): void {
  localStorage.setItem(STORED, String(at));
}

/** Whether something was changed that no backup has, for a week. */
export function needsBackup(changedAt: number, now: number): boolean {
  const last = Number(localStorage.getItem(STORED) ?? 0);
  return changedAt > last && now - Math.max(last, firstSeen(now)) > WEEK_MS;
}

function firstSeen(now: number): number {
  const known = localStorage.getItem(`${STORED}.first`);
  if (known === null) localStorage.setItem(`${STORED}.first`, String(now));
  return Number(known ?? now);
}
