/** What the wallet shows, computed from its rows. */
import type { AccountRow, OperationRow, PledgeRow, QuoteRow } from './core/database';
import type { Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import type { Price, Rate } from './core/till';
import { money } from '$lib/format';
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
  pledges: readonly PledgeRow[],
  now: number,
): boolean {
  return (
    operations.some((row) => row.status === 'open' || row.delivery === 'waiting') ||
    accounts.some((row) => row.status !== 'open' && !row.isSettled) ||
    [...quotes, ...pledges].some((row) => (row.status === 'unpaid' || row.status === 'waiting') && now - row.at < QUOTE_MS)
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

/** How many calls a budget is enough for, about. */
export function callsFor(sats: number, price: Price): number {
  return Math.floor(sats / Math.max(1, mostOf(price)));
}

/** A budget that is low is worth fewer calls than this; a message often takes two or three. */
const FEW_CALLS = 3;

/** How many more calls a budget is enough for, where that is few and it has been used; else null. */
export function fewCalls(account: AccountRow | null, price: Price): number | null {
  if (account?.status !== 'open' || account.spent === 0) return null;
  const calls = callsFor(account.balance, price);
  return calls < FEW_CALLS ? calls : null;
}

/** What sats are worth about, as "≈ €0.60"; '' where the operator gives no rate. */
export function approximately(amount: number, rate: Rate | null | undefined): string {
  if (!rate || !amount) return '';
  const { words, isLess } = money(amount * rate.per_sat, rate.currency);
  return `${isLess ? '<' : '≈'}\u00a0${words}`;
}
