/** What a Lightning invoice asks for: its amount is in the part that people can read (BOLT 11). */

/** One unit of each multiplier in thousandths of a millisat, so that all of them are whole. */
const UNITS: Record<string, bigint> = {
  '': 100_000_000_000_000n,
  m: 100_000_000_000n,
  u: 100_000_000n,
  n: 100_000n,
  p: 100n,
};
const SAT = 1_000_000n;

/** In sats; null for an invoice without an amount, with a part of a sat, or that is none. */
export function satsOf(invoice: string): number | null {
  const written = invoice.toLowerCase();
  const found = /^ln(?:bcrt|bc|tbs|tb)([1-9][0-9]{0,17})([munp]?)$/.exec(written.slice(0, written.lastIndexOf('1')));
  if (!found || !/^[02-9ac-hj-np-z]+$/.test(written.slice(written.lastIndexOf('1') + 1))) return null;
  const amount = BigInt(found[1]!) * UNITS[found[2]!]!;
  return amount % SAT === 0n && amount / SAT <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(amount / SAT) : null;
}
