/**
 * The way to the issuer and back: what this tab remembers of a sign-in that it began.
 *
 * Read before the app starts, so that neither the address bar nor the history keeps the code.
 */
import { readStored, readStoredJson, removeStored, writeStored } from '$lib/browser-storage';
import { isFields } from '$lib/protocol/fields';

/** Where the issuer sends people back to; registered there for the app's client. */
export const RETURN_PATH = '/signed-in';
const PENDING = 'bathysphere.signing-in';
const REFRESH = 'bathysphere.refresh';

/** A sign-in that was begun. */
export interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Where the person was. */
  readonly back: string;
  /** Who was here before, if anybody: what they wrote is theirs. */
  readonly who: string | null;
}

export interface Arrival {
  readonly parameters: URLSearchParams;
  /** Null if this tab began no sign-in: then the parameters are somebody else's. */
  readonly pending: Pending | null;
}

/** Take what the issuer sent along, once, and go back to where the person was. */
export function takeArrival(): Arrival | null {
  if (location.pathname !== RETURN_PATH) return null;
  const parameters = new URLSearchParams(location.search);
  const pending = readPending();
  removeStored(PENDING, 'tab');
  history.replaceState(null, '', pending?.back ?? '/');
  return { parameters, pending };
}

/** Whether it is kept: without it nobody can come back. */
export const keepPending = (pending: Pending): boolean => writeStored(PENDING, JSON.stringify(pending), 'tab');

/** The tab's place, as a path of this origin. */
export const here = (): string => location.pathname + location.search + location.hash;

/** What outlives a reload: the refresh token and whose it is, in this tab only. */
export interface Kept {
  readonly refresh: string;
  readonly subject: string;
}

export const hasKept = (): boolean => readStored(REFRESH, 'tab') !== null;

export function readKept(): Kept | null {
  const stored = readStoredJson(REFRESH, 'tab');
  if (!isFields(stored) || typeof stored['refresh'] !== 'string' || typeof stored['subject'] !== 'string') return null;
  return { refresh: stored['refresh'], subject: stored['subject'] };
}

export function writeKept(kept: Kept | null): void {
  if (kept) writeStored(REFRESH, JSON.stringify(kept), 'tab');
  else removeStored(REFRESH, 'tab');
}

function readPending(): Pending | null {
  const stored = readStoredJson(PENDING, 'tab');
  if (!isFields(stored)) return null;
  const { state, nonce, verifier, back, who } = stored;
  const isWhole = [state, nonce, verifier, back].every((value) => typeof value === 'string' && value !== '');
  if (!isWhole || !/^\/(?![/\\])/.test(back as string)) return null;
  return { state, nonce, verifier, back, who: typeof who === 'string' ? who : null } as Pending;
}
