/** The wallet as the page shows it: what the tables hold, live in every tab, and what is done by itself. */
import { readStored, removeStored } from '$lib/browser-storage';
import { liveQuery } from 'dexie';
import { runIfFree } from '$lib/locks';
import { persist } from '$lib/persistence';
import type { AppState } from '$lib/state/app.svelte';
import { walletDatabase, type AccountRow, type CoinRow, type OperationRow, type QuoteRow } from './core/database';
import { WalletError } from './core/errors';
import { Till, type Terms } from './core/till';
import { Wallet } from './core/wallet';
import { costOf, creditedOf, isWaiting, onTheWay } from './figures';
import { UNCHECKED } from './labels';

const SOON_MS = 2_000;
const LATER_MS = 60_000;

type On = Extract<Terms, { enabled: true }>;

export class Purse {
  readonly wallet: Wallet;
  #coins = $state.raw<readonly CoinRow[]>([]);
  #operations = $state.raw<readonly OperationRow[]>([]);
  #accounts = $state.raw<readonly AccountRow[]>([]);
  #quotes = $state.raw<readonly QuoteRow[]>([]);
  #spendable = $state(0);
  /** What the mint takes for each coin, in thousandths of a sat; the usual fee until it is known. */
  #ppk = $state(100);
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
    $effect.root(() => {
      $effect(() => this.#follow());
      $effect(() => void this.#count(this.balance));
      $effect(() => this.#plan());
    });
    document.addEventListener('visibilitychange', () => document.hidden || void this.sweep());
    addEventListener('online', () => void this.sweep());
    void this.sweep();
  }

  /** What can be spent. */
  readonly balance = $derived.by(() => this.#worth((coin) => coin.mint === this.terms.mint && coin.operation === ''));
  /** What an operation under way will bring, or give back. */
  readonly onTheWay = $derived.by(() => onTheWay(this.#operations));
  /** E-cash of a mint that was used before. */
  readonly elsewhere = $derived.by(() => this.#coins.filter((coin) => coin.mint !== this.terms.mint));
  readonly history = $derived.by(() => this.#operations.filter((row) => row.status !== 'void'));
  readonly budgets = $derived.by(() => this.#accounts.filter((row) => !row.isSettled && (row.credited > 0 || row.status !== 'open')));

  /** The most that can be locked at once: the mint takes its fee. */
  get spendable(): number {
    return this.#spendable;
  }

  /** What a budget is worth once the server has it. */
  credited(sats: number): number {
    return creditedOf(sats, this.#ppk);
  }

  /** What must be locked for a budget of so many sats. */
  costing(sats: number): number {
    return costOf(sats, this.#ppk);
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

  /** Lock a budget for the conversation that is shown. */
  async budget(amount: number): Promise<void> {
    const { api, conversation, agent, route } = this.app;
    void persist();
    if (conversation.isNew) {
      await api.createThread(conversation.id, { agent });
      route.go(`/c/${conversation.id}`, { replaces: true });
    }
    await this.wallet.lock(conversation.id, amount);
  }

  async finish(threadId: string): Promise<void> {
    await this.wallet.close(threadId);
    void this.sweep();
  }

  /** What waits is done, by one tab at a time. */
  async sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
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
    const isSoon = isWaiting(this.#operations, this.#accounts, this.#quotes, Date.now());
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

  async #count(balance: number): Promise<void> {
    // Without the mint's keys its fee is not known; one sat is what it mostly is.
    const most = await this.wallet.spendable().catch(() => Math.max(0, balance - 1));
    this.#ppk = await this.wallet.fee().catch(() => this.#ppk);
    if (balance === this.balance) this.#spendable = most;
  }

  #worth(isCounted: (coin: CoinRow) => boolean): number {
    return this.#coins.filter(isCounted).reduce((sum, coin) => sum + coin.amount, 0);
  }
}
