import type { Fields } from './wire';

/** Whether a value of the wire is an object with named fields. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
