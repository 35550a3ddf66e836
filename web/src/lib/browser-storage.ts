/**
 * What this browser keeps between visits. A private window, a full disk or a policy may refuse it:
 * then a value lasts as long as the page, and nothing fails.
 */
export type Lifetime = 'tab' | 'device';

const areaOf = (lifetime: Lifetime): Storage => (lifetime === 'tab' ? sessionStorage : localStorage);

export function readStored(key: string, lifetime: Lifetime = 'device'): string | null {
  try {
    return areaOf(lifetime).getItem(key);
  } catch {
    return null;
  }
}

/** Whether it was kept. */
export function writeStored(key: string, value: string, lifetime: Lifetime = 'device'): boolean {
  try {
    areaOf(lifetime).setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

export function removeStored(key: string, lifetime: Lifetime = 'device'): void {
  try {
    areaOf(lifetime).removeItem(key);
  } catch {
    // nothing was kept
  }
}

/** A JSON value; undefined where there is none, or where it cannot be read. */
export function readStoredJson(key: string, lifetime: Lifetime = 'device'): unknown {
  try {
    return JSON.parse(readStored(key, lifetime) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}
