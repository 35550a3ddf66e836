/** The wallet and a real mint: answers that get lost, copies, backups, words, locks that are over. */
import 'fake-indexeddb/auto';
import { getPubKeyFromPrivKey, PaymentRequest } from '@cashu/cashu-ts';
import Dexie from 'dexie';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkedWallet, exportWallet, importWallet, wipeWallet } from './backup';
import { feeOf, inputOf, sum } from './coins';
import { WalletDatabase, type Coin } from './database';
import { MintUnknown } from './errors';
import { MintLink } from './mint';
import type { RefundWire, SessionWire, Till } from './till';
import { coinsOf, tokenOf } from './tokens';
import { Wallet } from './wallet';
import { hex } from './words';

const MINT = import.meta.env['MINT_URL'] as string;
const THREAD = '00000000-0000-7000-8000-000000000001';
const SERVER_KEY = '11'.repeat(32);
const SERVER = hex(getPubKeyFromPrivKey(Uint8Array.from({ length: 32 }, () => 0x11)));
const realFetch = globalThis.fetch;

/** A till that believes everything and keeps what it is given. */
class FakeTill {
  tokens: string[] = [];
  given: RefundWire[] = [];
  status: SessionWire['status'] = 'open';
  seconds = 3600;
  isDeaf = false;
  key = '';

  session(): SessionWire {
    const tags = [['sigflag', 'SIG_INPUTS'], ['locktime', String(Math.floor(Date.now() / 1000) + this.seconds)], ['refund', this.key]];
    const nut10 = { kind: 'P2PK' as const, data: SERVER, tags };
    const request = new PaymentRequest([], 'r', 100, 'sat', [MINT], undefined, true, nut10).toEncodedCreqA();
    const sums = { credited: 0, spent: 0, refunded: 0, balance: 0 };
    return { thread_id: THREAD, epoch: 1, status: this.status, mint: MINT, refund_key: this.key, ...sums, request };
  }

  async open(_: string, key: string): Promise<SessionWire> {
    this.key = key;
    return this.session();
  }

  async show(): Promise<SessionWire> {
    return this.session();
  }

  async deposit(_: string, token: string): Promise<SessionWire> {
    if (this.isDeaf) throw new MintUnknown('no server');
    if (!this.tokens.includes(token)) this.tokens.push(token);
    return this.session();
  }

  async refunds() {
    return { is_settled: this.status === 'closed', refunds: this.given };
  }
}

type Fault = 'lose request' | 'lose answer' | 'cut answer' | 'server error';

/** Spoil the next request to a path, as a wire would. */
function spoil(fault: Fault, path: string): void {
  globalThis.fetch = async (input, init) => {
    if (!String(input).endsWith(path) || init?.method !== 'POST') return realFetch(input, init);
    globalThis.fetch = realFetch;
    if (fault === 'lose request') throw new TypeError('fetch failed');
    if (fault === 'server error') return new Response('bad gateway', { status: 502 });
    const answer = await realFetch(input, init);
    const text = await answer.text();
    if (fault === 'lose answer') throw new TypeError('fetch failed');
    return new Response(text.slice(0, text.length / 2), { status: answer.status });
  };
}

let names = 0;
let db: WalletDatabase;
let till: FakeTill;
const newDb = () => new WalletDatabase(`wallet ${(names += 1)}`);
/** A page that was just opened. */
const opened = (over = db) => new Wallet(over, till as unknown as Till, MINT);

async function funded(amount: number, wallet = opened()): Promise<Wallet> {
  const quote = await wallet.invoice(amount);
  await expect.poll(() => wallet.collect(quote.id)).toBe(true);
  return wallet;
}

/** What the mint says that the wallet's coins are worth. */
async function truth(wallet: Wallet): Promise<number> {
  const coins = await wallet.coins();
  const states = await wallet.mint.states(coins);
  return sum(coins.filter((_, index) => states[index] === 'unspent'));
}

async function expectBalance(wallet: Wallet, sats: number): Promise<void> {
  expect(await wallet.balance()).toBe(sats);
  expect(await truth(wallet)).toBe(sats);
  expect(await wallet.db.operations.where('status').equals('open').count()).toBe(0);
  expect((await wallet.db.coins.toArray()).filter((coin) => coin.operation !== '')).toEqual([]);
}

const lockedCoins = async (wallet: Wallet) =>
  (await wallet.db.operations.toArray()).filter((row) => row.kind === 'lock').flatMap((row) => row.sent);

beforeEach(() => {
  db = newDb();
  till = new FakeTill();
});
afterEach(() => {
  globalThis.fetch = realFetch;
});

describe('money in and out', () => {
  it('is funded, locked to the order of the server, and counts every sat', async () => {
    const wallet = await funded(1000);
    await expectBalance(wallet, 1000);
    await wallet.lock(THREAD, 256);
    await expectBalance(wallet, 743); // 1 sat is the mint's
    const [token] = till.tokens;
    const coins = await lockedCoins(wallet);
    expect(tokenOf(coins, MINT)).toBe(token);
    expect(sum(coins)).toBe(256);
    for (const coin of coins) {
      const [kind, { data, tags }] = JSON.parse(coin.secret);
      expect([kind, data, tags[2]]).toEqual(['P2PK', SERVER, ['refund', till.key]]);
      expect(coin.dleq?.r).toMatch(/^[0-9a-f]{64}$/);
    }
  });

  it('takes a token of somebody else, once', async () => {
    const friend = await funded(64, opened(newDb()));
    const token = tokenOf(await friend.coins(), MINT);
    const wallet = opened();
    expect(await wallet.receive(token)).toBe(63);
    await expectBalance(wallet, 63);
    await expect(wallet.receive(token)).rejects.toThrow('already been spent');
    await expectBalance(wallet, 63);
    await expect(wallet.receive('cashuBnonsense')).rejects.toThrow('not a token');
  });

  it('does not take what is locked to others', async () => {
    const wallet = await funded(64);
    await wallet.lock(THREAD, 32);
    await expect(opened(newDb()).receive(till.tokens[0]!)).rejects.toThrow('locked to a key');
  });

  it('cannot lock more than there is', async () => {
    const wallet = await funded(16);
    await expect(wallet.lock(THREAD, 16)).rejects.toThrow('16 sats, but this needs 17');
    await expectBalance(wallet, 16);
    expect(await wallet.spendable()).toBe(15);
  });
});

describe('an answer that never comes', () => {
  const faults: Fault[] = ['lose request', 'lose answer', 'cut answer', 'server error'];

  it.each(faults)('of an issue: %s', async (fault) => {
    const wallet = opened();
    const quote = await wallet.invoice(100);
    await expect.poll(() => wallet.mint.quoteState(quote.id)).toBe('PAID');
    spoil(fault, '/v1/mint/bolt11');
    await expect(wallet.collect(quote.id)).rejects.toThrow(MintUnknown);
    const again = opened();
    await again.sweep();
    await expectBalance(again, 100);
    await again.sweep();
    await expectBalance(again, 100);
  });

  it.each(faults)('of a lock: %s', async (fault) => {
    const wallet = await funded(100);
    spoil(fault, '/v1/swap');
    await expect(wallet.lock(THREAD, 40)).rejects.toThrow(MintUnknown);
    expect(till.tokens).toEqual([]);
    const again = opened();
    await again.sweep();
    await expectBalance(again, 59);
    expect(till.tokens).toHaveLength(1);
    expect(sum(await lockedCoins(again))).toBe(40);
  });

  it.each(faults)('of a receive: %s', async (fault) => {
    const friend = await funded(50, opened(newDb()));
    const token = tokenOf(await friend.coins(), MINT);
    spoil(fault, '/v1/swap');
    await expect(opened().receive(token)).rejects.toThrow(MintUnknown);
    const again = opened();
    await again.sweep();
    await expectBalance(again, 49);
  });

  it('of the server: the budget is paid in later, once', async () => {
    const wallet = await funded(100);
    till.isDeaf = true;
    await expect(wallet.lock(THREAD, 40)).rejects.toThrow(MintUnknown);
    till.isDeaf = false;
    await opened().sweep();
    await opened().sweep();
    expect(till.tokens).toHaveLength(1);
    await expectBalance(opened(), 59);
  });
});

describe('two at once', () => {
  it('never spend a coin twice, even without a lock over both', async () => {
    const wallet = await funded(64);
    const coins = await wallet.coins();
    const plan = { kind: 'receive' as const, inputs: coins, wanted: { kept: 63, sent: 0 }, amount: 64, fee: 1 };
    const both = await Promise.allSettled([wallet.operations.run(plan), opened().operations.run(plan)]);
    expect(both.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected']);
    await expectBalance(wallet, 63);
    // The second was not even written down: it did not take the mint to stop it.
    expect((await db.operations.toArray()).map((row) => row.kind).sort()).toEqual(['mint', 'receive']);
  });

  it('never use a counter twice, even without a lock over both', async () => {
    const plan = { kind: 'receive' as const, inputs: [], wanted: { kept: 7, sent: 0 }, amount: 7, fee: 0 };
    const both = [opened(), opened()];
    for (const wallet of both) await wallet.operations.seed().then(() => wallet.mint.active());
    // Both have read the counter before either writes.
    const get = db.counters.get.bind(db.counters) as (key: unknown) => Promise<unknown>;
    let readers = 0;
    const bothRead = new Promise<void>((done) => {
      db.counters.get = (async (key: unknown) => {
        const found = await get(key);
        if ((readers += 1) === 2) done();
        if (readers <= 2) await Dexie.waitFor(bothRead);
        return found;
      }) as never;
    });
    const rows = await Promise.all(both.map((wallet) => wallet.operations.prepare(plan)));
    expect(new Set(rows.flatMap((row) => row.outputs.map(({ data }) => data.blindingFactor))).size).toBe(6);
  });

  it('share the counters', async () => {
    const wallet = opened();
    const quotes = [await wallet.invoice(10), await wallet.invoice(20), await opened().invoice(30)];
    await Promise.all(quotes.map((quote) => expect.poll(() => opened().collect(quote.id)).toBe(true)));
    await expectBalance(wallet, 60);
  });

  it('collect an invoice once', async () => {
    const wallet = opened();
    const quote = await wallet.invoice(25);
    await expect.poll(() => wallet.mint.quoteState(quote.id)).toBe('PAID');
    await Promise.all([wallet.collect(quote.id), opened().collect(quote.id), opened().sweep()]);
    await expectBalance(wallet, 25);
  });
});

describe('copies', () => {
  it('a backup brings back what was made and spent after it too', async () => {
    const wallet = await funded(1000);
    const backup = checkedWallet(JSON.parse(JSON.stringify(await exportWallet(db))));
    await wallet.lock(THREAD, 256);
    await funded(77, wallet);
    await wipeWallet(db);
    expect(await wallet.balance()).toBe(0);
    await importWallet(db, backup, { adopt: true });
    const again = opened();
    await again.reconcile();
    await again.sweep();
    await expectBalance(again, 743 + 77);
    await again.lock(THREAD, 100);
    await expectBalance(again, 743 + 77 - 101);
  });

  it('an invoice that the backup knows as unpaid is not asked for twice', async () => {
    const wallet = opened();
    const quote = await wallet.invoice(30);
    const backup = checkedWallet(JSON.parse(JSON.stringify(await exportWallet(db))));
    await expect.poll(() => wallet.collect(quote.id)).toBe(true);
    await wipeWallet(db);
    await importWallet(db, backup, { adopt: true });
    const again = opened();
    await again.reconcile();
    await again.sweep();
    await expectBalance(again, 30);
    expect(await db.operations.count()).toBe(0);
    expect((await db.quotes.get(quote.id))?.status).toBe('issued');
  });

  it('a backup of an operation under way is brought to its end', async () => {
    const wallet = await funded(100);
    spoil('lose answer', '/v1/swap');
    await expect(wallet.lock(THREAD, 40)).rejects.toThrow(MintUnknown);
    const backup = checkedWallet(JSON.parse(JSON.stringify(await exportWallet(db))));
    await wipeWallet(db);
    await importWallet(db, backup, { adopt: true });
    await opened().sweep();
    await expectBalance(opened(), 59);
    expect(till.tokens).toHaveLength(1);
  });

  it('joins the wallet of another browser', async () => {
    const [mine, theirs] = [await funded(10), await funded(20, opened(newDb()))];
    const words = await mine.words();
    await importWallet(db, checkedWallet(JSON.parse(JSON.stringify(await exportWallet(theirs.db)))));
    await mine.reconcile();
    await expectBalance(mine, 30);
    expect(await mine.words()).toBe(words);
  });

  it('words alone bring all of it back', async () => {
    const wallet = await funded(1000);
    await wallet.lock(THREAD, 256);
    const again = opened(newDb());
    expect(await again.restore(` ${(await wallet.words()).toUpperCase()} `)).toBe(743);
    await expectBalance(again, 743);
    await expect(again.restore('abandon abandon abandon')).rejects.toThrow('not valid wallet words');
  });

  it('two browsers with the same words lose nothing to each other', async () => {
    const wallet = await funded(100);
    const other = opened(newDb());
    await other.restore(await wallet.words());
    await other.lock(THREAD, 30); // 69 left, made with counters that the first does not know of
    const quote = await wallet.invoice(50);
    await expect.poll(() => wallet.collect(quote.id)).toBe(true);
    await wallet.reconcile();
    await expectBalance(wallet, 119);
  });
});

describe('what comes back', () => {
  /** What the server does at a close: a part for itself, the rest to the person's key. */
  async function refund(sats: number): Promise<void> {
    const link = new MintLink(MINT);
    const ids = await link.keysetIds();
    const server = [{ publicKey: SERVER, secretKey: SERVER_KEY, threadId: '' }];
    const inputs = till.tokens.flatMap((token) => coinsOf(token, MINT, ids, server));
    const fee = feeOf(inputs, link.ppk);
    const theirs = new Wallet(newDb(), till as unknown as Till, MINT);
    const lock = { key: till.key, locktime: Math.floor(Date.now() / 1000) + 9999, refund: SERVER };
    const wanted = { kept: sum(inputs) - fee - sats, sent: sats, lock };
    const row = await theirs.operations.run({ kind: 'lock', inputs, wanted, amount: sats, fee });
    till.given = [{ refund_id: 'refund 1', amount: sats, token: tokenOf(row.sent, MINT), status: 'ready' }];
    till.status = 'closed';
  }

  it('a refund is taken once, by itself, also after its answer was lost', async () => {
    const wallet = await funded(1000);
    await wallet.lock(THREAD, 256);
    await refund(185);
    spoil('lose answer', '/v1/swap');
    await wallet.sweep();
    await Promise.all([opened().sweep(), opened().sweep()]);
    await expectBalance(wallet, 743 + 184);
    expect((await db.accounts.get(THREAD))?.isSettled).toBe(true);
    await opened().sweep();
    await expectBalance(wallet, 743 + 184);
  });

  it('a refund too small for a swap is kept, and spent along with other coins', async () => {
    const wallet = await funded(1000);
    await wallet.lock(THREAD, 256);
    await refund(1);
    await wallet.sweep();
    await expectBalance(wallet, 744);
    till.status = 'open';
    await wallet.lock(THREAD, 500);
    await expectBalance(wallet, 243);
    expect((await wallet.coins()).every((coin: Coin) => inputOf(coin).witness === undefined)).toBe(true);
  });

  it('a lock that is over comes back without the server', async () => {
    till.seconds = 2;
    const wallet = await funded(100);
    await wallet.lock(THREAD, 64);
    await wallet.sweep();
    expect(await wallet.balance()).toBe(35);
    const later = new Wallet(db, till as unknown as Till, MINT, () => Date.now() + 60_000);
    await expect.poll(async () => (await later.sweep(), await later.balance()), { timeout: 20_000, interval: 500 }).toBe(98);
    await expectBalance(later, 98);
    await later.sweep();
    await expectBalance(later, 98);
  });
});

