/** The wallet in the backup of the workspace, and back: nothing that is here is lost to what comes. */
import { withLock } from './lock';
import type { WalletDatabase } from './database';
import { WalletError } from './errors';
import { errorText } from './errors.text';

const TABLES = ['seeds', 'counters', 'keys', 'coins', 'operations', 'quotes', 'accounts'] as const;
type TableName = (typeof TABLES)[number];
type Row = Record<string, unknown>;
export type WalletBackup = { version: 1 } & Record<TableName, Row[]>;

const TEXTS: Record<TableName, readonly string[]> = {
  seeds: ['id', 'words'],
  counters: ['seed', 'keyset'],
  keys: ['publicKey', 'secretKey', 'threadId'],
  coins: ['id', 'secret', 'C', 'mint', 'operation'],
  operations: ['id', 'kind', 'status', 'mint', 'keyset', 'source', 'threadId', 'delivery'],
  quotes: ['id', 'mint', 'request', 'status'],
  accounts: ['threadId', 'mint', 'refundKey', 'status'],
};

export function exportWallet(db: WalletDatabase): Promise<WalletBackup> {
  return withLock(() =>
    db.transaction('r', db.tables, async () => {
      const rows = await Promise.all(TABLES.map((name) => db.table<Row>(name).toArray()));
      return { version: 1, ...Object.fromEntries(TABLES.map((name, index) => [name, rows[index]])) } as WalletBackup;
    }),
  );
}

/** What is in a backup, checked before anything is written. */
export function checkedWallet(value: unknown): WalletBackup {
  const whole = value as WalletBackup;
  const isWhole =
    whole !== null &&
    typeof whole === 'object' &&
    whole.version === 1 &&
    TABLES.every((name) => Array.isArray(whole[name]) && whole[name].every((row) => hasTexts(row, TEXTS[name])));
  const isMoney = isWhole && whole.coins.every((coin) => Number.isSafeInteger(coin['amount']) && Number(coin['amount']) > 0);
  if (!isMoney) throw new WalletError(errorText.damagedBackup);
  return whole;
}

/**
 * Join a backup with what is here. What is here is newer: of an operation that both have, ours
 * stands; counters only grow; the seed that is in use stays in use. Whoever made the file knows its
 * seed, so it is used for new money only where the person agreed (`adopt`) and there is none here.
 * What the backup's coins are still worth, the mint says afterwards (`Wallet.reconcile`).
 */
export function importWallet(db: WalletDatabase, whole: WalletBackup, { adopt = false } = {}): Promise<void> {
  return withLock(() =>
    db.transaction('rw', db.tables, async () => {
      const mayAdopt = adopt && (await lacksSeed(db));
      for (const row of whole.seeds) await addNew(db, 'seeds', { ...row, isCurrent: mayAdopt && row['isCurrent'] === true });
      for (const row of whole.counters as never as { seed: string; keyset: string; next: number }[]) {
        const known = (await db.counters.get([row.seed, row.keyset]))?.next ?? 0;
        await db.counters.put({ ...row, next: Math.max(known, row.next) });
      }
      const ended = new Set((await db.operations.toArray()).filter((row) => row.status !== 'open').map((row) => row.id));
      for (const name of ['keys', 'operations', 'quotes', 'accounts'] as const) {
        for (const row of whole[name]) await addNew(db, name, row);
      }
      for (const coin of whole.coins) {
        // A coin that was being spent in the backup is gone, or free, by what we know of that operation.
        if (!ended.has(String(coin['operation']))) await addNew(db, 'coins', coin);
      }
    }),
  );
}

/** Whether no seed is in use here. */
export async function lacksSeed(db: WalletDatabase): Promise<boolean> {
  return !(await db.seeds.toArray()).some((seed) => seed.isCurrent);
}

export function wipeWallet(db: WalletDatabase): Promise<void> {
  return withLock(() =>
    db.transaction('rw', db.tables, async () => {
      await Promise.all(db.tables.map((table) => table.clear()));
    }),
  );
}

async function addNew(db: WalletDatabase, name: TableName, row: Row): Promise<void> {
  const table = db.table<Row>(name);
  const key = row[table.schema.primKey.keyPath as string] as string;
  if (!(await table.get(key))) await table.add(row);
}

function hasTexts(row: unknown, names: readonly string[]): boolean {
  return row !== null && typeof row === 'object' && names.every((name) => typeof (row as Row)[name] === 'string');
}
