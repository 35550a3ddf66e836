/** What the wallet shows, computed from its rows. */
import type { AccountRow, OperationRow, QuoteRow } from './core/database';
import type { Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import type { Price } from './core/till';
import { text } from './text';

const QUOTE_MS = 15 * 60_000;

/** Money of operations that are not over: what they take from the wallet, and what they bring. */
export function onTheWay(operations: readonly OperationRow[]): number {
  const worth = (row: OperationRow) => {
    if (row.kind === 'mint') return row.amount;
    return row.inputs.reduce((sum, coin) => sum + coin.amount, 0) - row.fee;
  };
  return operations.filter((row) => row.status === 'open').reduce((sum, row) => sum + worth(row), 0);
}

/** Whether something may change within seconds. */
export function isWaiting(
  operations: readonly OperationRow[],
  accounts: readonly AccountRow[],
  quotes: readonly QuoteRow[],
  now: number,
): boolean {
  return (
    operations.some((row) => row.status === 'open' || row.delivery === 'waiting') ||
    accounts.some((row) => row.status !== 'open' && !row.isSettled) ||
    quotes.some((row) => row.status === 'unpaid' && now - row.at < QUOTE_MS)
  );
}

/** The price in words. */
export function priceWords({ step, per_1k_input, per_1k_output }: Price): string {
  return [
    step ? text.price.call(step) : '',
    per_1k_input ? text.price.input(per_1k_input) : '',
    per_1k_output ? text.price.output(per_1k_output) : '',
  ]
    .filter(Boolean)
    .join(' + ');
}

/** The most that a call costs that reads so many tokens. */
export function mostOf(price: Price, tokens = 2_000): number {
  const { step, per_1k_input, per_1k_output, reserved_output } = price;
  return step + Math.ceil((tokens * per_1k_input + reserved_output * per_1k_output) / 1000);
}

/** Why the last token was not taken, in the server's words; '' where there was none. */
export function refusalOf(error: Json | undefined): string {
  if (typeof error === 'string') return error;
  return isFields(error) && typeof error['message'] === 'string' ? error['message'] : '';
}

/** What the server is credited with of so many sats: the mint takes a fee for each coin. */
export function creditedOf(sats: number, ppk: number): number {
  return Math.max(0, sats - Math.ceil((coinsIn(sats) * ppk) / 1000));
}

/** The least that must be locked so that so many sats are credited. */
export function costOf(credited: number, ppk: number): number {
  let sats = credited;
  while (creditedOf(sats, ppk) < credited) sats += 1;
  return sats;
}

/** E-cash comes in powers of two: one coin for each bit. */
function coinsIn(sats: number): number {
  return Number.isSafeInteger(sats) && sats > 0 ? sats.toString(2).replaceAll('0', '').length : 0;
}

/** How many calls a budget is enough for, about. */
export function callsFor(sats: number, price: Price): number {
  return Math.floor(sats / Math.max(1, mostOf(price)));
}
