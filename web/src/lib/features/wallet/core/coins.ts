/** Coins: which to spend, what that costs, and how they look to the library and on the wire. */
import { Amount, type Proof } from '@cashu/cashu-ts';
import type { Coin } from './database';
import { NotEnough } from './errors';

/** How many coins a payment may tidy up that it does not need. */
const TIDY = 10;

type Worth = Pick<Coin, 'id' | 'amount'>;

export interface Chosen<T extends Worth> {
  coins: T[];
  fee: number;
  change: number;
}

export const sum = (coins: readonly Pick<Coin, 'amount'>[]) => coins.reduce((total, coin) => total + coin.amount, 0);

/** What the mint takes for spending coins (NUT-02): rounded up over all of them. */
export function feeOf(coins: readonly Pick<Coin, 'id'>[], ppk: (keyset: string) => number): number {
  return Math.ceil(coins.reduce((total, coin) => total + ppk(coin.id), 0) / 1000);
}

/**
 * Coins that cover an amount and the fee, or null: the largest first, and then the smallest ones for as
 * long as they cost nothing more, so that small change does not pile up. Which coins they are depends on
 * their worth and fee alone, so that a payment can be priced before its coins are made.
 */
export function pick<T extends Worth>(all: readonly T[], amount: number, ppk: (keyset: string) => number): Chosen<T> | null {
  const left = [...all].sort((a, b) => b.amount - a.amount || ppk(a.id) - ppk(b.id));
  const coins: T[] = [];
  const isEnough = () => sum(coins) >= amount + feeOf(coins, ppk);
  while (!isEnough()) {
    const next = left.shift();
    if (!next) return null;
    coins.push(next);
  }
  const fee = feeOf(coins, ppk);
  while (left.length && coins.length < TIDY && feeOf([...coins, left.at(-1)!], ppk) === fee) coins.push(left.pop()!);
  return { coins, fee, change: sum(coins) - amount - fee };
}

/** Coins that cover an amount and the fee. */
export function choose<T extends Worth>(all: readonly T[], amount: number, ppk: (keyset: string) => number): Chosen<T> {
  const chosen = pick(all, amount, ppk);
  if (!chosen) throw new NotEnough(sum(all), amount + feeOf(all, ppk));
  return chosen;
}

/** The most that can be paid of these coins at once. */
export function spendable(coins: readonly Worth[], ppk: (keyset: string) => number): number {
  return Math.max(0, sum(coins) - feeOf(coins, ppk));
}

export function coinOf(proof: Proof): Coin {
  const { id, amount, secret, C, dleq, witness } = proof;
  const opened = witness === undefined || typeof witness === 'string' ? witness : JSON.stringify(witness);
  return { id, amount: amount.toNumber(), secret, C, ...(dleq && { dleq }), ...(opened && { witness: opened }) };
}

/** As the library wants it, with the proof of the mint's signature. */
export function proofOf({ id, amount, secret, C, dleq, witness }: Coin): Proof {
  return { id, amount: Amount.from(amount), secret, C, ...(dleq && { dleq }), ...(witness && { witness }) };
}

/** As the mint wants it: the blinding factor in `dleq` would tell it whose coin this was. */
export function inputOf({ id, amount, secret, C, witness }: Coin): Proof {
  return { id, amount: Amount.from(amount), secret, C, ...(witness && { witness }) };
}
