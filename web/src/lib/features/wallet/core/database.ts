/** The wallet's tables. A row of `operations` is written before its request is sent, never after. */
import type { SerializedOutputData } from '@cashu/cashu-ts';
import Dexie, { type EntityTable, type Table } from 'dexie';

/** A wallet's seed in words. The current one makes new e-cash; others came with a backup. */
export interface SeedRow {
  id: string;
  words: string;
  at: number;
  isCurrent: boolean;
}

/** The next number of NUT-13 that nothing was made from yet. */
export interface CounterRow {
  seed: string;
  keyset: string;
  next: number;
}

/** A key for refunds: one a conversation, so that the mint cannot tell that they belong together. */
export interface KeyRow {
  publicKey: string;
  secretKey: string;
  threadId: string;
}

/** E-cash as it is kept: amounts are plain numbers. */
export interface Coin {
  id: string;
  amount: number;
  secret: string;
  C: string;
  dleq?: { e: string; s: string; r?: string } | undefined;
  /** A signature that opens its lock. */
  witness?: string | undefined;
}

/** A coin of ours. `operation` is the one that is spending it, '' when none is. */
export interface CoinRow extends Coin {
  mint: string;
  operation: string;
}

/** What becomes of an output: into the wallet, or into the token that is handed over. */
export interface Output {
  data: SerializedOutputData;
  isSent: boolean;
}

export type OperationKind = 'mint' | 'lock' | 'receive' | 'refund' | 'reclaim';
/** `open`: it may have happened. `done`: it has. `void`: it has not, and never will. */
export type OperationStatus = 'open' | 'done' | 'void';
/** A locked token: on its way to the server, taken, refused by it, or spent at the mint. */
export type Delivery = 'waiting' | 'taken' | 'refused' | 'settled';

export interface OperationRow {
  id: string;
  kind: OperationKind;
  status: OperationStatus;
  at: number;
  mint: string;
  keyset: string;
  /** What it adds to the wallet, or takes from it, fees apart. */
  amount: number;
  fee: number;
  inputs: Coin[];
  outputs: Output[];
  /** What it comes from, once: a quote of the mint, a refund of the server, a lock; or ''. */
  source: string;
  /** The conversation it pays for, or that it comes back from. */
  threadId: string;
  /** Of a `lock`: what was locked, once it is; until when, in seconds; what became of it. */
  sent: Coin[];
  locktime: number;
  delivery: Delivery | '';
  /** Why it is void, or what the mint said last. */
  note: string;
}

export type QuoteStatus = 'unpaid' | 'issued' | 'expired';

/** An invoice of the mint; paid, it becomes e-cash. */
export interface QuoteRow {
  id: string;
  mint: string;
  amount: number;
  request: string;
  /** In seconds; 0 for never. */
  expiry: number;
  at: number;
  status: QuoteStatus;
}

/**
 * `waiting`: not paid, or not yet at the server. `paid`: the server has it, and a run that stopped may go on.
 * `done`: nothing is left to do. `dropped`: what is paid for it stays in the wallet.
 */
export type PledgeStatus = 'waiting' | 'paid' | 'done' | 'dropped';

/** A payment for a conversation that is carried out by itself once its invoice is paid. Not in backups. */
export interface PledgeRow {
  id: string;
  /** Its invoice; '' where the wallet has enough. */
  quote: string;
  threadId: string;
  /** How much is locked, once. */
  lock: number;
  /** What goes in all. */
  total: number;
  status: PledgeStatus;
  at: number;
}

/** What the server keeps for a conversation, as it last said. */
export interface AccountRow {
  threadId: string;
  mint: string;
  refundKey: string;
  status: 'open' | 'closing' | 'closed';
  epoch: number;
  credited: number;
  spent: number;
  refunded: number;
  balance: number;
  /** Everything that comes back has come. */
  isSettled: boolean;
  at: number;
}

export class WalletDatabase extends Dexie {
  declare seeds: EntityTable<SeedRow, 'id'>;
  declare counters: Table<CounterRow, [string, string]>;
  declare keys: EntityTable<KeyRow, 'publicKey'>;
  declare coins: EntityTable<CoinRow, 'secret'>;
  declare operations: EntityTable<OperationRow, 'id'>;
  declare quotes: EntityTable<QuoteRow, 'id'>;
  declare accounts: EntityTable<AccountRow, 'threadId'>;
  declare pledges: EntityTable<PledgeRow, 'id'>;

  constructor(name = 'bathysphere-wallet') {
    super(name);
    this.version(1).stores({
      seeds: 'id',
      counters: '[seed+keyset]',
      keys: 'publicKey, threadId',
      coins: 'secret, [operation+mint]',
      operations: 'id, status, kind, at, source, threadId, delivery',
      quotes: 'id, status',
      accounts: 'threadId',
    });
    this.version(2).stores({ pledges: 'id, threadId, status' });
  }
}

let shared: WalletDatabase | undefined;

/** The one database of this page. */
export function walletDatabase(): WalletDatabase {
  shared ??= new WalletDatabase();
  return shared;
}
