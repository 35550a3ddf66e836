import { plural } from '$lib/format';

/** An amount with its unit, which has no other name in any language. */
export const sats = (n: number) => plural(n, 'sat', 'sats');
