/** The wallet: money from the mint, budgets locked for conversations, refunds taken back. */
import { Refusal } from '$lib/protocol/api';
import { satsOf } from './bolt11';
import { withLock } from './lock';
import { choose, feeOf, spendable, sum } from './coins';
import type { AccountRow, Coin, KeyRow, OperationRow, QuoteRow, WalletDatabase } from './database';
import { MintUnknown, WalletError } from './errors';
import { errorText } from './errors.text';
import { MintLink } from './mint';
import { Operations, type Plan } from './operations';
import { partsOf, type Lock } from './outputs';
import type { Minting } from './payment';
import { Pledges } from './pledges';
import { isRefused, type RefundWire, type SessionWire, type Till } from './till';
import { coinsOf, lockOf, reopened, tokenOf } from './tokens';
import { keyOf, seedOf } from './words';

/** How long after it was made an unpaid invoice is still asked about. */
const QUOTE_DAYS = 7;
/** The server knows nothing of the account any more. */
const GONE = ['no_payment_session', 'thread_not_found'];
/** Clocks differ: a lock is over when it is over for everybody. */
const CLOCK_SECONDS = 30;

/** What another try later may cure; anything else is a bug and must be seen. */
const isTransient = (error: unknown) => error instanceof WalletError || error instanceof Refusal;

export class Wallet {
  readonly mint: MintLink;
  readonly operations: Operations;
  readonly pledges: Pledges;

  constructor(
    readonly db: WalletDatabase,
    readonly till: Till,
    mint: string,
    private readonly now: () => number = Date.now,
  ) {
    this.mint = new MintLink(mint);
    this.operations = new Operations(db, this.mint, now);
    this.pledges = new Pledges(this, now);
  }

  // ── what there is ──

  /** Coins that nothing is spending. */
  coins(): Promise<Coin[]> {
    return this.db.coins.where({ operation: '', mint: this.mint.url }).toArray();
  }

  async balance(): Promise<number> {
    return sum(await this.coins());
  }

  /** The most that can be locked now. */
  async spendable(): Promise<number> {
    await this.mint.load();
    return spendable(await this.coins(), this.mint.ppk);
  }

  /** How the mint makes new e-cash, and what it takes for each coin. */
  async minting(): Promise<Minting> {
    const keyset = await this.mint.active();
    return { id: keyset.id, split: (amount) => partsOf({ kept: amount, sent: 0 }, keyset).kept, ppk: this.mint.ppk };
  }

  /** The words that all of it can be made from again. */
  async words(): Promise<string> {
    return (await this.operations.seed()).words;
  }

  // ── in ──

  /** An invoice of the mint. */
  async invoice(amount: number): Promise<QuoteRow> {
    if (!Number.isSafeInteger(amount) || amount < 1) throw new WalletError(errorText.amount);
    await this.operations.seed(); // a backup that knows the invoice must know the words
    const quote = await this.mint.quote(amount, this.now());
    if (satsOf(quote.request) !== amount) throw new WalletError(errorText.otherAmount);
    await this.db.quotes.add(quote);
    return quote;
  }

  /** Whether an invoice is paid; if so, its e-cash is in the wallet. */
  async collect(id: string): Promise<boolean> {
    const quote = await this.db.quotes.get(id);
    if (!quote) throw new WalletError(errorText.noInvoice);
    if (quote.status === 'issued') return true;
    const state = await this.mint.quoteState(id);
    if (state === 'UNPAID') {
      const end = Math.max(quote.expiry * 1000, quote.at) + QUOTE_DAYS * 86_400_000;
      if (this.now() > end) await this.db.quotes.update(id, { status: 'expired' });
      return false;
    }
    await withLock(() => this.#issue(quote, state));
    return true;
  }

  /** Take a token of somebody else into the wallet; what it was worth after the mint's fee. */
  async receive(token: string): Promise<number> {
    return withLock(() => this.#receive(token, 'receive'));
  }

  // ── out ──

  /** Lock a budget for a conversation and pay it in; once for each source, where it has one. */
  async lock(threadId: string, amount: number, source = ''): Promise<AccountRow> {
    if (!Number.isSafeInteger(amount) || amount < 1) throw new WalletError(errorText.amount);
    const lock = await this.#agree(threadId);
    const row = await withLock(() => this.#lock(threadId, amount, lock, source));
    if (row.status !== 'done') throw new MintUnknown(row.note);
    const account = await this.#deliver(row);
    if (!account) throw new WalletError(errorText.noBudget);
    return account;
  }

  /** End a conversation's account; the rest comes back by `sweep`. */
  async close(threadId: string): Promise<AccountRow> {
    return this.#note(await this.till.close(threadId));
  }

  /** What the server says of a conversation's account. */
  async look(threadId: string): Promise<AccountRow> {
    return this.#note(await this.till.show(threadId));
  }

  // ── in the background ──

  /**
   * Everything that waits: answers that never came, invoices, budgets on their way, refunds, locks
   * that are over. Each is tried for itself; what fails today is tried again.
   */
  async sweep(): Promise<void> {
    const { operations, quotes, pledges, accounts } = this.db;
    for (const row of await operations.where('status').equals('open').sortBy('at')) {
      await this.#try(() => withLock(() => this.#resume(row.id)));
    }
    for (const quote of await quotes.where('status').equals('unpaid').toArray()) await this.#try(() => this.collect(quote.id));
    for (const row of await operations.where('delivery').equals('waiting').sortBy('at')) await this.#try(() => this.#deliver(row));
    for (const pledge of await pledges.where('status').equals('waiting').sortBy('at')) {
      await this.#try(() => this.pledges.fulfil(pledge.id));
    }
    for (const account of await accounts.toArray()) {
      if (!account.isSettled) await this.#try(() => this.#refunds(account));
    }
    const seconds = this.now() / 1000 - CLOCK_SECONDS;
    for (const row of await operations.where('delivery').anyOf('taken', 'refused').toArray()) {
      if (row.locktime < seconds) await this.#try(() => withLock(() => this.#reclaim(row)));
    }
  }

  /** Restore the wallet from its words: whatever the mint has signed for them and nobody has spent. */
  async restore(words: string): Promise<number> {
    const typed = seedOf(words, this.now());
    return withLock(async () => {
      const { seeds } = this.db;
      const isFirst = (await seeds.count()) === 0;
      if (!(await seeds.get(typed.id))) await seeds.add({ ...typed, isCurrent: isFirst });
      return this.#reconcile();
    });
  }

  /** After a backup was taken in: find what was made since, and forget what was spent since. */
  reconcile(): Promise<number> {
    return withLock(() => this.#reconcile());
  }

  async #reconcile(): Promise<number> {
    let worth = 0;
    for (const seed of await this.db.seeds.toArray()) {
      for (const keyset of await this.mint.keysetIds()) worth += await this.operations.scan(seed, keyset);
    }
    const coins = await this.coins();
    const states = await this.mint.states(coins);
    const spent = coins.filter((_, index) => states[index] === 'spent');
    await this.db.coins.bulkDelete(spent.map((coin) => coin.secret));
    return worth;
  }

  /** Ask the server for refunds of conversations that this browser has no account of any more. */
  async findRefunds(threadIds: readonly string[]): Promise<void> {
    for (const threadId of threadIds) {
      if (await this.db.accounts.get(threadId)) continue;
      const keys = await this.keys(threadId);
      await this.#try(async () => {
        const session = await this.till.show(threadId);
        if (keys.some((key) => key.publicKey === session.refund_key)) await this.#refunds(await this.#note(session));
      });
    }
  }

  // ── keys ──

  /** The key of a conversation's refunds, first of the current seed, then of others. */
  async keys(threadId: string): Promise<KeyRow[]> {
    const current = await this.operations.seed();
    const others = (await this.db.seeds.toArray()).filter((seed) => seed.id !== current.id);
    const keys = [current, ...others].map((seed) => keyOf(seed, threadId));
    await this.db.keys.bulkPut(keys);
    return keys;
  }

  // ── each under the wallet's lock ──

  async #issue(quote: QuoteRow, state: 'PAID' | 'ISSUED'): Promise<void> {
    const same = await this.db.operations.where('source').equals(quote.id).toArray();
    const isDone = same.some((row) => row.status === 'done');
    const open = same.find((row) => row.status === 'open');
    if (open) await this.operations.settle(open);
    else if (!isDone && state === 'PAID') {
      const wanted = { kept: quote.amount, sent: 0 };
      await this.operations.run({ kind: 'mint', inputs: [], wanted, amount: quote.amount, fee: 0, source: quote.id });
    }
    await this.db.quotes.update(quote.id, { status: 'issued' });
  }

  async #receive(token: string, kind: 'receive' | 'refund', source = '', threadId = ''): Promise<number> {
    const keys = await this.db.keys.toArray();
    const read = async () => coinsOf(token, this.mint.url, await this.mint.keysetIds(), keys);
    const coins = await read().catch(async () => (await this.mint.load({ refresh: true }), read()));
    return this.#take(coins, { kind, source, threadId });
  }

  /** Swap coins for new ones of our own; what they are worth then. */
  async #take(coins: Coin[], about: Pick<Plan, 'kind' | 'source' | 'threadId'>): Promise<number> {
    for (const { id } of coins) await this.mint.keyset(id);
    const fee = feeOf(coins, this.mint.ppk);
    const amount = sum(coins);
    if (amount <= fee) return this.#keepAsIs(coins, about);
    const wanted = { kept: amount - fee, sent: 0 };
    const row = await this.operations.run({ ...about, inputs: coins, wanted, amount, fee });
    if (row.status === 'open') throw new MintUnknown(row.note);
    return amount - fee;
  }

  /** Too little for a swap of its own. What only our key opens is ours anyhow, and spent along with other coins. */
  async #keepAsIs(coins: Coin[], about: Pick<Plan, 'kind' | 'source' | 'threadId'>): Promise<number> {
    if (about.kind === 'receive') throw new WalletError(errorText.tooSmall);
    const states = await this.mint.states(coins);
    const kept = coins.filter((_, index) => states[index] === 'unspent');
    const plan = { ...about, inputs: [], wanted: { kept: 0, sent: 0 }, amount: sum(kept), fee: 0 };
    const row = this.operations.row(plan, '', []);
    await this.db.transaction('rw', this.db.coins, this.db.operations, async () => {
      await this.db.coins.bulkPut(kept.map((coin) => ({ ...coin, mint: this.mint.url, operation: '' })));
      await this.db.operations.add({ ...row, status: kept.length ? 'done' : 'void' });
    });
    return sum(kept);
  }

  async #lock(threadId: string, amount: number, lock: Lock, source: string): Promise<OperationRow> {
    await this.mint.load();
    const { coins, fee, change } = choose(await this.coins(), amount, this.mint.ppk);
    const wanted = { kept: change, sent: amount, lock };
    return this.operations.run({ kind: 'lock', inputs: coins, wanted, amount, fee, threadId, source });
  }

  /** Open an account for the conversation; the lock that the server asks for. */
  async #agree(threadId: string): Promise<Lock> {
    const { refundKey } = (await this.db.accounts.get(threadId)) ?? {};
    const keys = await this.keys(threadId);
    const key = keys.find((other) => other.publicKey === refundKey) ?? keys[0]!;
    const session = await this.till.open(threadId, key.publicKey);
    await this.#note(session);
    if (!session.request) throw new WalletError(errorText.notAsked);
    return lockOf(session.request, { mint: this.mint.url, refund: key.publicKey, now: Math.floor(this.now() / 1000) });
  }

  async #resume(id: string): Promise<void> {
    const row = await this.db.operations.get(id);
    if (row?.status !== 'open') return;
    const ended = await this.operations.settle(row);
    if (row.kind === 'mint' && ended.status === 'done') await this.db.quotes.update(row.source, { status: 'issued' });
    if (ended.status === 'void') await this.operations.advance(row);
  }

  /** A lock that is over: what the server has not spent comes back with the refund key. */
  async #reclaim(row: OperationRow): Promise<void> {
    const states = await this.mint.states(row.sent);
    if (states.includes('pending')) return;
    const keys = await this.db.keys.toArray();
    const left = row.sent.filter((_, index) => states[index] === 'unspent').map((coin) => reopened(coin, keys));
    if (left.length) await this.#take(left, { kind: 'reclaim', source: `lock ${row.id}`, threadId: row.threadId });
    await this.db.operations.update(row.id, { delivery: 'settled' });
  }

  // ── with the server ──

  async #deliver(row: OperationRow): Promise<AccountRow | null> {
    try {
      const session = await this.till.deposit(row.threadId, tokenOf(row.sent, row.mint));
      await this.db.operations.update(row.id, { delivery: 'taken', note: '' });
      return await this.#note(session);
    } catch (error) {
      if (!isRefused(error)) throw error;
      await this.db.operations.update(row.id, { delivery: 'refused', note: error.message });
      return null;
    }
  }

  async #refunds(account: AccountRow): Promise<void> {
    const now = await this.look(account.threadId).catch((error: unknown) => {
      if (error instanceof Refusal && GONE.includes(error.code)) return null;
      throw error;
    });
    if (now === null) return this.#settleIfSpent(account.threadId);
    const { is_settled, refunds } = await this.till.refunds(account.threadId);
    for (const refund of refunds) await withLock(() => this.#refund(account.threadId, refund));
    if (is_settled && now.status === 'closed') await this.#settleIfSpent(account.threadId);
  }

  /** An account is over when the mint has seen again all that was locked for it. */
  async #settleIfSpent(threadId: string): Promise<void> {
    if (await this.#areSpent(threadId)) await this.db.accounts.update(threadId, { isSettled: true });
  }

  async #refund(threadId: string, { refund_id, token }: RefundWire): Promise<void> {
    const known = await this.db.operations.where('source').equals(refund_id).toArray();
    // Void means spent, and only this wallet has the key: it was taken with another copy of it.
    if (!known.length) await this.#receive(token, 'refund', refund_id, threadId);
  }

  /** Whether the server has spent everything that was locked for a conversation. */
  async #areSpent(threadId: string): Promise<boolean> {
    const rows = await this.db.operations.where('threadId').equals(threadId).toArray();
    for (const row of rows) {
      if (row.kind === 'lock' && row.status === 'open') return false;
      if (row.delivery === '' || row.delivery === 'settled' || row.delivery === 'refused') continue;
      const states = await this.mint.states(row.sent);
      if (!states.every((state) => state === 'spent')) return false;
      await this.db.operations.update(row.id, { delivery: 'settled' });
    }
    return true;
  }

  async #note(session: SessionWire): Promise<AccountRow> {
    const { thread_id: threadId, refund_key: refundKey, status, epoch, credited, spent, refunded, balance, mint } = session;
    const old = await this.db.accounts.get(threadId);
    const isSettled = status === 'closed' && old?.epoch === epoch && old.isSettled;
    const row = { threadId, mint, refundKey, status, epoch, credited, spent, refunded, balance, isSettled, at: this.now() };
    await this.db.accounts.put(row);
    return row;
  }

  async #try(run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
  }
}
