/** The wallet as the page shows it: what the tables hold, live in every tab, and what is done by itself. */
import { readStored, removeStored } from '$lib/browser-storage';
import { liveQuery } from 'dexie';
import { runIfFree } from '$lib/locks';
import { persist } from '$lib/persistence';
import { isFields } from '$lib/protocol/fields';
import type { AppState } from '$lib/state/app.svelte';
import type { Question } from '$lib/stream/view';
import { walletDatabase, type AccountRow, type CoinRow, type OperationRow, type PledgeRow, type QuoteRow } from './core/database';
import { WalletError } from './core/errors';
import { creditedOf, lockFor, paymentFor, type Minting, type Payment } from './core/payment';
import { Till, type Terms } from './core/till';
import { Wallet } from './core/wallet';
import { approximately, isWaiting, onTheWay } from './figures';
import { text } from './text';
import { UNCHECKED } from './storage-keys';

const SOON_MS = 2_000;
const LATER_MS = 60_000;

type On = Extract<Terms, { enabled: true }>;

export class Purse {
  readonly wallet: Wallet;
  #coins = $state.raw<readonly CoinRow[]>([]);
  #operations = $state.raw<readonly OperationRow[]>([]);
  #accounts = $state.raw<readonly AccountRow[]>([]);
  #quotes = $state.raw<readonly QuoteRow[]>([]);
  #pledges = $state.raw<readonly PledgeRow[]>([]);
  /** How the mint makes e-cash and what it takes; null until it has said so. */
  #minting = $state.raw<Minting | null>(null);
  #known: ReadonlySet<string> = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSweeping = false;
  #looking = new Set<string>();
  #lookAgain = new Set<string>();

  constructor(
    private readonly app: AppState,
    readonly terms: On,
  ) {
    const db = walletDatabase();
    this.wallet = new Wallet(db, new Till(app.api), terms.mint);
    liveQuery(() => db.coins.toArray()).subscribe((rows) => (this.#coins = rows));
    liveQuery(() => db.operations.orderBy('at').reverse().toArray()).subscribe((rows) => (this.#operations = rows));
    liveQuery(() => db.accounts.toArray()).subscribe((rows) => (this.#accounts = rows));
    liveQuery(() => db.quotes.toArray()).subscribe((rows) => (this.#quotes = rows));
    liveQuery(() => db.pledges.toArray()).subscribe((rows) => (this.#pledges = rows));
    $effect.root(() => {
      $effect(() => this.#follow());
      $effect(() => this.#goOn());
      $effect(() => this.#plan());
    });
    document.addEventListener('visibilitychange', () => document.hidden || void this.sweep());
    addEventListener('online', () => void this.sweep());
    void this.sweep();
  }

  /** What can be spent. */
  readonly balance = $derived.by(() => this.#coins.filter(this.#isFree).reduce((sum, coin) => sum + coin.amount, 0));
  /** What an operation under way will bring, or give back. */
  readonly onTheWay = $derived.by(() => onTheWay(this.#operations));
  /** E-cash of a mint that was used before. */
  readonly elsewhere = $derived.by(() => this.#coins.filter((coin) => coin.mint !== this.terms.mint));
  readonly history = $derived.by(() => this.#operations.filter((row) => row.status !== 'void'));
  readonly budgets = $derived.by(() => this.#accounts.filter((row) => !row.isSettled && (row.credited > 0 || row.status !== 'open')));

  /** What a locked amount is worth once the server has it; null until the mint's fees are known. */
  credited(lock: number): number | null {
    return this.#minting && isWhole(lock) ? creditedOf(lock, this.#minting) : null;
  }

  /** What must be locked for a budget of so many sats. */
  lockFor(credited: number): number | null {
    return this.#minting && isWhole(credited) ? lockFor(credited, this.#minting) : null;
  }

  /** What it takes to lock so many sats: from the wallet, and by an invoice. */
  payment(lock: number | null): Payment | null {
    const coins = this.#coins.filter(this.#isFree);
    const areKnown = this.#minting && coins.every((coin) => this.#known.has(coin.id));
    return areKnown && lock !== null && isWhole(lock) ? paymentFor(coins, lock, this.#minting!) : null;
  }

  /** What sats are worth about; '' where the operator gives no rate. */
  worth(sats: number): string {
    return approximately(sats, this.terms.rate);
  }

  account(threadId: string): AccountRow | null {
    return this.#accounts.find((row) => row.threadId === threadId) ?? null;
  }

  /** What came back to the wallet of a conversation's newest account. */
  cameBack(threadId: string): number {
    const rows = this.#operations.filter((row) => row.threadId === threadId && row.status === 'done');
    const lastLock = rows.find((row) => row.kind === 'lock')?.at ?? 0;
    return rows.filter((row) => row.kind === 'refund' && row.at > lastLock).reduce((sum, row) => sum + row.amount - row.fee, 0);
  }

  quote(id: string): QuoteRow | undefined {
    return this.#quotes.find((row) => row.id === id);
  }

  /** The payment for a conversation that is under way. */
  pledge(threadId: string): PledgeRow | undefined {
    return this.#pledges.find((row) => row.threadId === threadId && row.status === 'waiting');
  }

  /** Whether the server has what a payment was for. */
  isPaid(pledge: string): boolean {
    return this.#pledges.some((row) => row.id === pledge && (row.status === 'paid' || row.status === 'done'));
  }

  /** Lock a budget for the conversation that is shown. */
  async budget(amount: number): Promise<void> {
    await this.#begin();
    await this.wallet.lock(this.app.conversation.id, amount);
  }

  /** Begin a payment for the conversation that is shown; the rest is done once its invoice is paid. */
  async pay(payment: Payment): Promise<void> {
    await this.wallet.mint.load({ refresh: true });
    await this.#learn();
    const now = this.payment(payment.lock);
    if (now?.invoice !== payment.invoice || now.credited !== payment.credited) throw new WalletError(text.exhausted.changed);
    await this.#begin();
    const { id } = await this.wallet.pledges.make(this.app.conversation.id, payment);
    await this.wallet.pledges.fulfil(id);
  }

  async #begin(): Promise<void> {
    const { api, conversation, agent, route } = this.app;
    void persist();
    if (!conversation.isNew) return;
    await api.createThread(conversation.id, { agent });
    route.go(`/c/${conversation.id}`, { replaces: true });
  }

  async finish(threadId: string): Promise<void> {
    await this.wallet.close(threadId);
    void this.sweep();
  }

  /** What waits is done, by one tab at a time. */
  async sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    void this.#learn();
    try {
      await runIfFree('bathysphere wallet sweep', async () => {
        if (readStored(UNCHECKED)) {
          await this.wallet.reconcile();
          removeStored(UNCHECKED);
        }
        await this.wallet.sweep();
      });
    } catch (error) {
      if (!(error instanceof WalletError)) throw error; // the mint is unavailable: later
    } finally {
      this.#isSweeping = false;
      this.#plan();
    }
  }

  /** Soon where something may change within seconds; a page that nobody sees only then. */
  #plan(): void {
    const isSoon = isWaiting(this.#operations, this.#accounts, this.#quotes, this.#pledges, Date.now());
    clearTimeout(this.#timer);
    const next = () => (document.hidden && !isSoon ? this.#plan() : void this.sweep());
    this.#timer = setTimeout(next, isSoon ? SOON_MS : LATER_MS);
  }

  /** Each step of a run that was paid for shows in the budget. */
  #follow(): void {
    const { conversation } = this.app;
    for (const agent of Object.values(conversation.view.agents)) void agent.values['payment_spent_sats'];
    void conversation.status;
    void this.#look(conversation.id);
  }

  async #look(threadId: string): Promise<void> {
    if (this.#looking.has(threadId)) {
      this.#lookAgain.add(threadId);
      return;
    }
    this.#looking.add(threadId);
    try {
      const known = await this.wallet.db.accounts.get(threadId);
      if (known && !known.isSettled) await this.wallet.look(threadId);
    } catch {
      // shown as it last was
    } finally {
      this.#looking.delete(threadId);
      if (this.#lookAgain.delete(threadId)) void this.#look(threadId);
    }
  }

  /** Every agent that waits for money goes on once a payment has arrived. */
  #goOn(): void {
    const { conversation, requests } = this.app;
    const waiting = requests.open.filter((question) => question.type === 'payment_exhausted');
    const isPaid = this.#pledges.some((row) => row.threadId === conversation.id && row.status === 'paid');
    if (isPaid && waiting.length) void this.#resume(conversation.id, waiting);
  }

  async #resume(threadId: string, waiting: readonly Question[]): Promise<void> {
    const needed = Math.min(...waiting.map(({ payload }) => (isFields(payload) ? Number(payload['needed_sats'] ?? 0) : 0)));
    if (!(await this.wallet.pledges.claim(threadId, needed)) || this.app.conversation.id !== threadId) return;
    for (const question of waiting) void this.app.requests.answer(question, { action: 'retry' });
  }

  /** What the mint takes, for new e-cash and for what is here. */
  async #learn(): Promise<void> {
    try {
      const minting = await this.wallet.minting();
      this.#known = new Set(await this.wallet.mint.keysetIds());
      this.#minting = minting;
    } catch {
      // asked again with the next sweep
    }
  }

  readonly #isFree = (coin: CoinRow) => coin.mint === this.terms.mint && coin.operation === '';
}

const isWhole = (sats: number) => Number.isSafeInteger(sats) && sats >= 1;
