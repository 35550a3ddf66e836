/** What a button promises is what the invoice asks for, and then it is enough: for any fee, amount and wallet. */
import { describe, expect, it } from 'vitest';
import { satsOf } from './bolt11';
import { choose, feeOf, sum } from './coins';
import { creditedOf, lockFor, paymentFor, type Minting } from './payment';

type Worth = { id: string; amount: number };

/** As mints do: one coin for each bit. */
const split = (amount: number) =>
  [...amount.toString(2)].reverse().flatMap((bit, place) => (bit === '1' ? [2 ** place] : []));
const minting = (ppk: number, old = ppk): Minting => ({ id: 'new', split, ppk: (id) => (id === 'new' ? ppk : old) });
const coins = (amounts: readonly number[], id = 'new'): Worth[] => amounts.map((amount) => ({ id, amount }));

/** Numbers that look random and are the same in each run. */
function dice(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * (most + 1));
  };
}

/** Pay what is promised, as the wallet, the mint and the server do; what the conversation gets, and what is left. */
function carriedOut(wallet: readonly Worth[], invoice: number, lock: number, mint: Minting) {
  const minted = coins(invoice ? mint.split(invoice) : []);
  const spent = choose([...minted, ...wallet], lock, mint.ppk); // in another order than it was priced
  const token = coins(mint.split(lock));
  const left = sum(wallet) + invoice - sum(spent.coins) + spent.change;
  return { credited: sum(token) - feeOf(token, mint.ppk), left };
}

describe('a payment', () => {
  it('is enough for what it promises, to the sat, for any fee and amount', () => {
    const roll = dice(9);
    for (let round = 0; round < 3_000; round += 1) {
      const mint = minting(roll(1000), roll(1000));
      const wallet = [
        ...coins(Array.from({ length: roll(6) }, () => 2 ** roll(9))),
        ...coins(Array.from({ length: roll(3) }, () => 2 ** roll(9)), 'old'),
      ];
      const wanted = 1 + roll(round % 2 ? 200 : 20_000);
      const payment = paymentFor(wallet, lockFor(wanted, mint), mint);
      const { credited, left } = carriedOut(wallet, payment.invoice, payment.lock, mint);
      expect(credited).toBe(payment.credited);
      expect(credited).toBeGreaterThanOrEqual(wanted);
      expect(left).toBe(sum(wallet) + payment.invoice - payment.total);
      expect(left).toBeGreaterThanOrEqual(0);
      if (payment.invoice) expect(() => carriedOut(wallet, payment.invoice - 1, payment.lock, mint)).toThrow();
    }
  });

  it.each([0, 1, 100, 333, 999, 1000])('of an empty wallet with a fee of %d ppk asks for what it says', (ppk) => {
    const mint = minting(ppk);
    for (let wanted = 1; wanted <= 2100; wanted += wanted < 130 ? 1 : 13) {
      const { invoice, total, lock, credited } = paymentFor([], lockFor(wanted, mint), mint);
      expect(carriedOut([], invoice, lock, mint).credited).toBe(credited);
      expect(credited).toBeGreaterThanOrEqual(wanted);
      expect(creditedOf(lock - 1, mint)).toBeLessThan(wanted);
      expect(invoice).toBeGreaterThanOrEqual(total);
      if (ppk === 0) expect([invoice, total, lock]).toEqual([wanted, wanted, wanted]);
    }
  });

  it('includes both fees: of the lock, and of what the server pays to settle', () => {
    const mint = minting(100);
    expect(paymentFor([], lockFor(100, mint), mint)).toEqual({ credited: 100, lock: 101, invoice: 102, total: 102 });
  });

  it('takes from the wallet what is there', () => {
    const mint = minting(100);
    expect(paymentFor(coins([64, 32, 4]), lockFor(100, mint), mint)).toMatchObject({ invoice: 2, total: 102 });
    expect(paymentFor(coins([128]), lockFor(100, mint), mint)).toMatchObject({ invoice: 0, total: 102 });
  });
});

describe('the amount of an invoice', () => {
  it('is read from its readable part', () => {
    const amounts = ['lnbc1020n1pq', 'LNBC1M1PQ', 'lnbcrt25u1pq', 'lntb11pq', 'lnbc10000p1pq'].map(satsOf);
    expect(amounts).toEqual([102, 100_000, 2500, 100_000_000, 1]);
  });

  it('is nothing where there is none, or where it is no invoice', () => {
    const wrong = ['lnbc1pq', 'lnbc15p1pq', 'lnurl1pq', '', 'lnbc01u1pq', 'lnbc1u1p"q', 'javascript:alert(1)', 'lnbc1u1'];
    expect(wrong.map(satsOf)).toEqual(wrong.map(() => null));
  });
});
