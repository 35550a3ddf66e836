/** One step to pay, with a real mint and its fee: what is promised is what is asked for, and it happens once. */
import 'fake-indexeddb/auto';
import { getPubKeyFromPrivKey, PaymentRequest } from '@cashu/cashu-ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Refusal } from '$lib/protocol/api';
import { satsOf } from './bolt11';
import { feeOf, sum } from './coins';
import { WalletDatabase } from './database';
import { MintUnknown } from './errors';
import { MintLink } from './mint';
import { lockFor, paymentFor, type Payment } from './payment';
import type { SessionWire, Till } from './till';
import { coinsOf } from './tokens';
import { Wallet } from './wallet';
import { hex } from './words';

const MINT = import.meta.env['MINT_URL'] as string;
const THREAD = '00000000-0000-7000-8000-000000000001';
const SERVER = { publicKey: hex(getPubKeyFromPrivKey(new Uint8Array(32).fill(0x11))), secretKey: '11'.repeat(32), threadId: '' };
const realFetch = globalThis.fetch;

/** A till that credits each token once, less the mint's fee, as the server does. */
class CountingTill {
  credited = 0;
  tokens = new Set<string>();
  isDown = false;
  isGone = false;
  key = '';

  session(): SessionWire {
    if (this.isGone) throw new Refusal('thread_not_found', 'no such thread', 404);
    if (this.isDown) throw new MintUnknown('no server');
    const tags = [['sigflag', 'SIG_INPUTS'], ['locktime', String(Math.floor(Date.now() / 1000) + 3600)], ['refund', this.key]];
    const nut10 = { kind: 'P2PK' as const, data: SERVER.publicKey, tags };
    const request = new PaymentRequest([], 'r', 100, 'sat', [MINT], undefined, true, nut10).toEncodedCreqA();
    const sums = { credited: this.credited, spent: 0, refunded: 0, balance: this.credited };
    return { thread_id: THREAD, epoch: 1, status: 'open', mint: MINT, refund_key: this.key, ...sums, request };
  }

  async open(_: string, key: string): Promise<SessionWire> {
    this.key = key;
    return this.session();
  }

  async show(): Promise<SessionWire> {
    return this.session();
  }

  async deposit(_: string, token: string): Promise<SessionWire> {
    this.session();
    if (!this.tokens.has(token)) {
      const link = new MintLink(MINT);
      const coins = coinsOf(token, MINT, await link.keysetIds(), [SERVER]);
      this.tokens.add(token);
      this.credited += sum(coins) - feeOf(coins, link.ppk);
    }
    return this.session();
  }

  async refunds() {
    return { is_settled: false, refunds: [] };
  }
}

let names = 0;
let db: WalletDatabase;
let till: CountingTill;
/** A page that was just opened. */
const opened = () => new Wallet(db, till as unknown as Till, MINT);

async function priced(credited: number, wallet = opened()): Promise<Payment> {
  const minting = await wallet.minting();
  return paymentFor(await wallet.coins(), lockFor(credited, minting), minting);
}

/** The mint's pretended wallet pays invoices at once: until this is called, nobody hears of it. */
function unpaid(): () => void {
  globalThis.fetch = async (input, init) => {
    const answer = await realFetch(input, init);
    const isAsked = /\/v1\/mint\/quote\/bolt11\/[^/]+$/.test(String(input));
    return isAsked ? Response.json({ ...(await answer.json()), state: 'UNPAID' }) : answer;
  };
  return () => void (globalThis.fetch = realFetch);
}

const isPaid = (id: string, wallet = opened()) => expect.poll(() => wallet.pledges.fulfil(id)).toBe('paid');
const locks = async () => (await db.operations.toArray()).filter((row) => row.kind === 'lock' && row.status !== 'void');
const quoteOf = async (id: string) => (await db.quotes.get(id))!;

beforeEach(() => {
  db = new WalletDatabase(`pledges ${(names += 1)}`);
  till = new CountingTill();
});
afterEach(() => {
  globalThis.fetch = realFetch;
});

describe('what is promised', () => {
  it.each([1, 2, 50, 99, 100, 101, 127, 128, 255, 1000, 1023, 4095])('%d sats arrive, for exactly the invoice that was named', async (sats) => {
    const wallet = opened();
    const payment = await priced(sats, wallet);
    const { id, quote } = await wallet.pledges.make(THREAD, payment);
    expect(satsOf((await quoteOf(quote)).request)).toBe(payment.invoice);
    await isPaid(id, wallet);
    expect(till.credited).toBe(payment.credited);
    expect(till.credited).toBeGreaterThanOrEqual(sats);
    expect(await wallet.balance()).toBe(payment.invoice - payment.total);
    expect(await wallet.pledges.claim(THREAD, sats)).toBe(true);
  });

  it('counts what is in the wallet, again and again', async () => {
    const wallet = opened();
    for (const sats of [64, 17, 300, 5, 100, 1]) {
      const before = { balance: await wallet.balance(), credited: till.credited };
      const payment = await priced(sats, wallet);
      const { id } = await wallet.pledges.make(THREAD, payment);
      await isPaid(id, wallet);
      expect(till.credited - before.credited).toBe(payment.credited);
      expect(await wallet.balance()).toBe(before.balance + payment.invoice - payment.total);
    }
  });

  it('needs no invoice where the wallet has enough', async () => {
    const wallet = opened();
    const filled = await wallet.invoice(500);
    await expect.poll(() => wallet.collect(filled.id)).toBe(true);
    const payment = await priced(100, wallet);
    expect(payment.invoice).toBe(0);
    const { id, quote } = await wallet.pledges.make(THREAD, payment);
    expect(quote).toBe('');
    expect(await wallet.pledges.fulfil(id)).toBe('paid');
    expect(await wallet.balance()).toBe(500 - payment.total);
  });

  it('refuses an invoice that asks for another amount', async () => {
    globalThis.fetch = async (input, init) => {
      const answer = await realFetch(input, init);
      if (!String(input).endsWith('/v1/mint/quote/bolt11')) return answer;
      const dearer = await realFetch(input, { ...init!, body: JSON.stringify({ amount: 103, unit: 'sat' }) });
      return Response.json({ ...(await answer.json()), request: (await dearer.json()).request });
    };
    await expect(opened().invoice(102)).rejects.toThrow('different amount');
    expect(await db.quotes.count()).toBe(0);
  });
});

describe('it happens once', () => {
  it('whatever is clicked, in however many tabs: one invoice', async () => {
    unpaid();
    const payment = await priced(100);
    const made = await Promise.all([opened(), opened(), opened()].map((wallet) => wallet.pledges.make(THREAD, payment)));
    expect(new Set(made.map((row) => row.id)).size).toBe(1);
    expect(await db.quotes.count()).toBe(1);
  });

  it('after a reload in the middle, and with every tab at it', async () => {
    const pays = unpaid();
    const { id } = await opened().pledges.make(THREAD, await priced(100));
    expect(await opened().pledges.fulfil(id)).toBe('waiting');
    pays();
    await expect.poll(async () => {
      await Promise.all([opened().sweep(), opened().sweep(), opened().pledges.fulfil(id)]);
      return (await db.pledges.get(id))?.status;
    }).toBe('paid');
    await opened().sweep();
    expect([till.tokens.size, (await locks()).length]).toEqual([1, 1]);
    const claims = await Promise.all([1, 2, 3].map(() => opened().pledges.claim(THREAD, 100)));
    expect(claims.filter(Boolean)).toHaveLength(1);
  });

  it('where the answer of the mint to the lock is lost', async () => {
    const wallet = opened();
    const { id } = await wallet.pledges.make(THREAD, await priced(100));
    let isLost = false;
    globalThis.fetch = async (input, init) => {
      const answer = await realFetch(input, init);
      if (isLost || !String(input).endsWith('/v1/swap')) return answer;
      isLost = true;
      throw new TypeError('fetch failed');
    };
    await expect.poll(() => wallet.pledges.fulfil(id).catch(() => 'lost')).toBe('lost');
    await opened().sweep();
    expect(await opened().pledges.fulfil(id)).toBe('paid');
    expect((await locks()).length).toBe(1);
    expect(till.credited).toBe(100);
  });

  it('where the server is unavailable when the money comes', async () => {
    const { id } = await opened().pledges.make(THREAD, await priced(100));
    till.isDown = true;
    await expect.poll(() => opened().pledges.fulfil(id).catch(() => 'failed')).toBe('failed');
    till.isDown = false;
    await opened().sweep();
    expect(await opened().pledges.fulfil(id)).toBe('paid');
    expect([till.tokens.size, till.credited]).toEqual([1, 100]);
  });

  it('also when a new invoice is wanted and the old one was paid meanwhile', async () => {
    const pays = unpaid();
    const first = await opened().pledges.make(THREAD, await priced(100));
    pays();
    const payment = await priced(200);
    await expect.poll(() => opened().mint.quoteState(first.quote)).toBe('PAID');
    expect((await opened().pledges.make(THREAD, payment)).id).toBe(first.id);
    expect(await db.quotes.count()).toBe(1);
  });
});

describe('what is given up', () => {
  it('stays in the wallet when it is paid nevertheless', async () => {
    const pays = unpaid();
    const payment = await priced(100);
    const { id, quote } = await opened().pledges.make(THREAD, payment);
    await opened().pledges.drop(THREAD);
    pays();
    await expect.poll(() => opened().collect(quote)).toBe(true);
    await opened().sweep();
    expect(await opened().pledges.fulfil(id)).toBe('dropped');
    expect([await opened().balance(), till.tokens.size]).toEqual([payment.invoice, 0]);
  });

  it('is what another amount replaces', async () => {
    unpaid();
    const first = await opened().pledges.make(THREAD, await priced(100));
    const second = await opened().pledges.make(THREAD, await priced(200));
    expect(second.id).not.toBe(first.id);
    expect((await db.pledges.get(first.id))?.status).toBe('dropped');
  });

  it('is a payment for a conversation that is gone', async () => {
    const payment = await priced(100);
    const { id } = await opened().pledges.make(THREAD, payment);
    till.isGone = true;
    await expect.poll(async () => (await opened().pledges.fulfil(id).catch(() => ''), (await db.pledges.get(id))?.status)).toBe('dropped');
    expect(await opened().balance()).toBe(payment.invoice);
  });
});

describe('less than was promised', () => {
  it('is locked where another payment was faster, and the run does not go on', async () => {
    const wallet = opened();
    const { id } = await wallet.pledges.make(THREAD, await priced(100));
    await expect.poll(() => wallet.collect(id)).toBe(true);
    await wallet.lock(THREAD, 60);
    const already = till.credited;
    expect(await wallet.pledges.fulfil(id)).toBe('paid');
    expect(till.credited - already).toBeLessThan(60);
    expect(await wallet.pledges.claim(THREAD, 200)).toBe(false);
  });
});
