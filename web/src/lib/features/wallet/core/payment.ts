/** What a payment costs, fees included: computed with the coins that will be spent, before anybody pays. */
import { feeOf, pick, sum } from './coins';
import type { Coin } from './database';
import { WalletError } from './errors';
import { errorText } from './errors.text';

/** How the mint makes new e-cash: of which keyset, and in which coins. */
export interface Minting {
  id: string;
  split: (amount: number) => number[];
  /** The fee of a keyset, in thousandths of a sat for each coin. */
  ppk: (keyset: string) => number;
}

export interface Payment {
  /** What the conversation is credited with. */
  credited: number;
  /** What is locked for that: the server's part of the fee is in it. */
  lock: number;
  /** What the mint's invoice asks for; 0 where the wallet has enough. */
  invoice: number;
  /** What goes in all: from the wallet, and by the invoice. */
  total: number;
}

type Worth = Pick<Coin, 'id' | 'amount'>;

/** A mint that takes more than this for a payment is not one to pay with. */
const MOST_FEE = 100_000;

/** What the server is credited with of so many locked sats. */
export function creditedOf(lock: number, minting: Minting): number {
  return Math.max(0, lock - feeOf(made(lock, minting), minting.ppk));
}

/** The least that must be locked so that so many sats are credited. */
export function lockFor(credited: number, minting: Minting): number {
  for (let lock = credited; lock <= credited + MOST_FEE; lock += 1) if (creditedOf(lock, minting) >= credited) return lock;
  throw new WalletError(errorText.fees);
}

/** What it takes to lock so many sats, with these coins in the wallet: the smallest invoice that is enough. */
export function paymentFor(coins: readonly Worth[], lock: number, minting: Minting): Payment {
  const least = Math.max(0, lock - sum(coins));
  for (let invoice = least; invoice <= least + MOST_FEE; invoice += 1) {
    const chosen = pick([...coins, ...made(invoice, minting)], lock, minting.ppk);
    if (chosen) return { credited: creditedOf(lock, minting), lock, invoice, total: lock + chosen.fee };
  }
  throw new WalletError(errorText.fees);
}

function made(amount: number, { id, split }: Minting): Worth[] {
  return amount > 0 ? split(amount).map((part) => ({ id, amount: part })) : [];
}
