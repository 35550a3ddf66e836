/**
 * Payments that are carried out by themselves: an invoice, and once it is paid, a lock for the conversation.
 *
 * A pledge is written down before its invoice is shown, and its lock has the pledge as its source, which
 * `operations` holds once. So a reload, another tab or a lost answer changes nothing: each pledge locks once.
 */
import { newId } from '$lib/protocol/ids';
import { Refusal } from '$lib/protocol/api';
import type { OperationRow, PledgeRow, PledgeStatus, QuoteRow, WalletDatabase } from './database';
import { NotEnough } from './errors';
import { withLock } from './lock';
import type { Payment } from './payment';

const LOCK = 'bathysphere wallet pledges';
/** The conversation is gone, or not this person's. */
const GONE = ['thread_not_found', 'session_owner_mismatch'];

/** What a pledge needs of the wallet. */
interface Payer {
  readonly db: WalletDatabase;
  invoice(amount: number): Promise<QuoteRow>;
  collect(quote: string): Promise<boolean>;
  spendable(): Promise<number>;
  lock(threadId: string, amount: number, source: string): Promise<unknown>;
}

export class Pledges {
  constructor(
    private readonly wallet: Payer,
    private readonly now: () => number,
  ) {}

  /** Begin a payment. One that already waits for this conversation is kept, if it is the same or was paid. */
  make(threadId: string, { lock, invoice, total }: Payment): Promise<PledgeRow> {
    return withLock(async () => {
      const waiting = await this.#waiting(threadId);
      for (const old of waiting) {
        if ((await this.#isPaid(old)) || (old.lock === lock && (await this.#isOpen(old)))) return old;
      }
      for (const old of waiting) await this.#end(old, 'dropped');
      const quote = invoice ? (await this.wallet.invoice(invoice)).id : '';
      const row: PledgeRow = { id: quote || newId(), quote, threadId, lock, total, status: 'waiting', at: this.now() };
      await this.wallet.db.pledges.add(row);
      return row;
    }, LOCK);
  }

  /** Give up what waits for a conversation. An invoice that is paid nevertheless fills the wallet. */
  drop(threadId: string): Promise<void> {
    return withLock(async () => {
      for (const row of await this.#waiting(threadId)) {
        if (!(await this.#operation(row))) await this.#end(row, 'dropped');
      }
    }, LOCK);
  }

  /** Do what can be done now; how far it is. */
  fulfil(id: string): Promise<PledgeStatus> {
    return withLock(() => this.#fulfil(id), LOCK);
  }

  /** Whether a run that stopped goes on by itself now. Of several tabs, one is told so, once. */
  claim(threadId: string, needed: number): Promise<boolean> {
    const { pledges, accounts } = this.wallet.db;
    return this.wallet.db.transaction('rw', pledges, accounts, async () => {
      const paid = await pledges.where({ threadId }).filter((row) => row.status === 'paid').toArray();
      for (const row of paid) await pledges.update(row.id, { status: 'done' });
      const account = await accounts.get(threadId);
      return paid.length > 0 && account?.status === 'open' && account.balance >= needed;
    });
  }

  async #fulfil(id: string): Promise<PledgeStatus> {
    const row = await this.wallet.db.pledges.get(id);
    if (!row) return 'dropped';
    if (row.status !== 'waiting') return row.status;
    if (!(await this.#isPaid(row))) {
      const { status } = (await this.wallet.db.quotes.get(row.quote)) ?? {};
      return status === 'expired' ? this.#end(row, 'dropped') : 'waiting';
    }
    if (!(await this.#operation(row))) await this.#lock(row);
    const { delivery } = (await this.#operation(row)) ?? {};
    if (delivery === 'refused') return this.#end(row, 'dropped');
    return delivery === 'taken' || delivery === 'settled' ? this.#end(row, 'paid') : 'waiting';
  }

  async #lock(row: PledgeRow): Promise<void> {
    const source = sourceOf(row);
    try {
      await this.wallet.lock(row.threadId, row.lock, source).catch(async (error: unknown) => {
        if (!(error instanceof NotEnough)) throw error;
        // Fees rose, or another payment was faster: as much as there is, and the run asks for the rest.
        const most = await this.wallet.spendable();
        if (most < 1) throw error;
        await this.wallet.lock(row.threadId, most, source);
      });
    } catch (error) {
      const isHopeless = error instanceof NotEnough || (error instanceof Refusal && GONE.includes(error.code));
      if (isHopeless) await this.#end(row, 'dropped');
      throw error;
    }
  }

  /** The lock that a pledge has made, unless it came to nothing. */
  async #operation(row: PledgeRow): Promise<OperationRow | undefined> {
    const rows = await this.wallet.db.operations.where('source').equals(sourceOf(row)).toArray();
    return rows.find((operation) => operation.status !== 'void');
  }

  async #isPaid(row: PledgeRow): Promise<boolean> {
    return row.quote === '' || this.wallet.collect(row.quote);
  }

  /** Whether its invoice can still be paid. */
  async #isOpen({ quote }: PledgeRow): Promise<boolean> {
    const { expiry = 0 } = (await this.wallet.db.quotes.get(quote)) ?? {};
    return expiry === 0 || expiry * 1000 > this.now();
  }

  #waiting(threadId: string): Promise<PledgeRow[]> {
    return this.wallet.db.pledges.where({ threadId }).filter((row) => row.status === 'waiting').toArray();
  }

  async #end(row: PledgeRow, status: PledgeStatus): Promise<PledgeStatus> {
    await this.wallet.db.pledges.update(row.id, { status });
    return status;
  }
}

const sourceOf = ({ id }: PledgeRow) => `pledge ${id}`;
