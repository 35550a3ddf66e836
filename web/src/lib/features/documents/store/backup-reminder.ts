/** Whether the person should be reminded to make a backup. */
import { readStored, writeStored } from '$lib/browser-storage';

const STORED = 'bathysphere.backup';
const WEEK_MS = 7 * 24 * 3_600_000;

export function noteBackup(at: number): void {
  writeStored(STORED, String(at));
}

/** Whether something was changed that no backup has, for a week. */
export function needsBackup(changedAt: number, now: number): boolean {
  const last = Number(readStored(STORED) ?? 0);
  return changedAt > last && now - Math.max(last, firstSeen(now)) > WEEK_MS;
}

function firstSeen(now: number): number {
  const known = readStored(`${STORED}.first`);
  if (known === null) writeStored(`${STORED}.first`, String(now));
  return Number(known ?? now);
}
