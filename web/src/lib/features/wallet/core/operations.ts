/**
 * Operations: everything that moves money at the mint, written down with its inputs and outputs
 * before it is sent, and ended only by what the mint says.
 *
 * | what the mint says | what is done |
 * |---|---|
 * | signatures, each proven | done |
 * | nothing, or nonsense | open; later asked about: inputs spent and outputs restored: done; unspent: sent again |
 * | no, and the inputs are unspent | void; the inputs are free again |
 * | no, and the inputs are spent | outputs restored: done; else void, the coins were spent elsewhere |
 * | pending | open |
 *
 * New outputs are never made for an operation that is open. Callers hold the wallet's lock (`withLock`).
 */
import { newId } from '$lib/protocol/ids';
import type { Coin, OperationKind, OperationRow, Output, SeedRow, WalletDatabase } from './database';
import { MintRefused, WalletError } from './errors';
import { errorText } from './errors.text';
import type { MintLink, State } from './mint';
import { outputsFor, partsOf, type Wanted } from './outputs';
import { bytesOf, newSeed } from './words';

export interface Plan {
  kind: OperationKind;
  inputs: readonly Coin[];
  wanted: Wanted;
  amount: number;
  fee: number;
  source?: string;
  threadId?: string;
}

const SPENT_ELSEWHERE = 'This e-cash has already been spent elsewhere.';
/** So many counters without a signature end a search. */
const GAP = 100;

export class Operations {
  constructor(
    readonly db: WalletDatabase,
    readonly mint: MintLink,
    readonly now: () => number,
  ) {}

  /** The seed that new e-cash is made from; made when it is first needed. */
  async seed(): Promise<SeedRow> {
    return this.db.transaction('rw', this.db.seeds, async () => {
      const known = (await this.db.seeds.toArray()).find((seed) => seed.isCurrent);
      if (known) return known;
      const made = newSeed(this.now());
      await this.db.seeds.add(made);
      return made;
    });
  }

  /** Do it. A refusal that another try may cure (old keys, used counters) is tried once more. */
  async run(plan: Plan): Promise<OperationRow> {
    const first = await this.#send(await this.prepare(plan));
    if (first.status !== 'void' || first.note === SPENT_ELSEWHERE) return this.#told(first);
    await this.mint.load({ refresh: true });
    await this.advance(first);
    return this.#told(await this.#send(await this.prepare(plan)));
  }

  /** Write an operation down. From here on its coins and counters are its own. */
  async prepare(plan: Plan): Promise<OperationRow> {
    const [keyset, seed] = [await this.mint.active(), await this.seed()];
    const { kept, sent } = partsOf(plan.wanted, keyset);
    for (;;) {
      const next = await this.#next(seed.id, keyset.id);
      const outputs = outputsFor(plan.wanted, bytesOf(seed), next, keyset);
      const row = this.row(plan, keyset.id, outputs);
      const counter = { seed: seed.id, keyset: keyset.id, next: next + kept.length + sent.length };
      if (await this.#write(row, next, counter)) return row;
    }
  }

  /** A plan as it is written down. */
  row(plan: Plan, keyset: string, outputs: Output[]): OperationRow {
    const { kind, amount, fee, source = '', threadId = '', wanted } = plan;
    const about = { id: newId(), kind, at: this.now(), mint: this.mint.url, keyset, amount, fee, source, threadId };
    const inputs = plan.inputs.map(plain);
    const locktime = wanted.lock?.locktime ?? 0;
    return { ...about, status: 'open', inputs, outputs, sent: [], locktime, delivery: '', note: '' };
  }

  /** Find out what became of an operation whose answer never came, and bring it to its end. */
  async settle(row: OperationRow): Promise<OperationRow> {
    if (row.kind === 'mint') {
      const state = await this.mint.quoteState(row.source);
      return state === 'ISSUED' ? this.#restore(row) : this.#send(row);
    }
    const states = await this.mint.states(row.inputs);
    if (states.every((state) => state === 'unspent')) return this.#send(row);
    return this.#judge(row, states, SPENT_ELSEWHERE);
  }

  /** Another browser may have the words too: where it stood in the way of an operation, count on from its coins. */
  async advance(row: OperationRow): Promise<number> {
    const seed = await this.seed();
    const next = await this.#next(seed.id, row.keyset);
    return this.scan(seed, row.keyset, Math.max(0, next - row.outputs.length));
  }

  /** Take in what was made from a seed from a counter on, and is not here; what that was worth. */
  async scan(seed: SeedRow, keyset: string, from = 0): Promise<number> {
    let worth = 0;
    for (let start = from; ; ) {
      const { coins, next } = await this.mint.scan(bytesOf(seed), keyset, start, GAP);
      if (!coins.length) return worth;
      start = next;
      const states = await this.mint.states(coins);
      const unspent = coins.filter((_, index) => states[index] === 'unspent');
      await this.db.transaction('rw', this.db.coins, this.db.counters, async () => {
        for (const coin of unspent) {
          if (await this.db.coins.get(coin.secret)) continue;
          await this.db.coins.add({ ...coin, mint: this.mint.url, operation: '' });
          worth += coin.amount;
        }
        const known = await this.#next(seed.id, keyset);
        await this.db.counters.put({ seed: seed.id, keyset, next: Math.max(known, next) });
      });
    }
  }

  async #write(row: OperationRow, expected: number, counter: { seed: string; keyset: string; next: number }): Promise<boolean> {
    const { counters, coins, operations } = this.db;
    return this.db.transaction('rw', counters, coins, operations, async () => {
      if ((await this.#next(counter.seed, counter.keyset)) !== expected) return false;
      const same = row.source ? await operations.where('source').equals(row.source).toArray() : [];
      if (same.some((other) => other.status !== 'void')) throw new WalletError(errorText.done);
      for (const { secret } of row.inputs) {
        const coin = await coins.get(secret);
        if (coin && coin.operation !== '') throw new WalletError(errorText.otherTab);
        if (coin) await coins.update(secret, { operation: row.id });
      }
      await counters.put(counter);
      await operations.add(row);
      return true;
    });
  }

  async #next(seed: string, keyset: string): Promise<number> {
    return (await this.db.counters.get([seed, keyset]))?.next ?? 0;
  }

  async #send(row: OperationRow): Promise<OperationRow> {
    try {
      const { mint } = this;
      const ask = row.kind === 'mint' ? mint.issue(row.source, row.outputs) : mint.swap(row.inputs, row.outputs);
      return await this.#finish(row, await ask);
    } catch (error) {
      if (!(error instanceof MintRefused)) throw error;
      return this.#refused(row, error);
    }
  }

  async #refused(row: OperationRow, error: MintRefused): Promise<OperationRow> {
    if (row.kind === 'mint') {
      const state = await this.mint.quoteState(row.source);
      return state === 'ISSUED' ? this.#restore(row) : this.#void(row, error.message, []);
    }
    return this.#judge(row, await this.mint.states(row.inputs), error.message);
  }

  /** It was refused, or some inputs are spent: a swap takes all of its inputs or none. */
  async #judge(row: OperationRow, states: State[], why: string): Promise<OperationRow> {
    if (states.includes('pending')) return this.#wait(row);
    if (states.every((state) => state === 'spent')) return this.#restore(row, states);
    return this.#void(row, states.includes('spent') ? SPENT_ELSEWHERE : why, states);
  }

  async #restore(row: OperationRow, states: State[] = []): Promise<OperationRow> {
    const coins = await this.mint.restore(row.outputs);
    if (!coins) return this.#void(row, SPENT_ELSEWHERE, states);
    // Long ago, or in another copy of this wallet: some of it may be spent again.
    const now = await this.mint.states(coins);
    return this.#finish(row, coins, (index) => now[index] !== 'spent');
  }

  async #finish(row: OperationRow, made: readonly Coin[], isLeft = (_: number) => true): Promise<OperationRow> {
    const kept = made.filter((_, index) => !row.outputs[index]!.isSent && isLeft(index));
    const sent = made.filter((_, index) => row.outputs[index]!.isSent);
    return this.#end(row, { status: 'done', sent, delivery: sent.length ? 'waiting' : '', note: '' }, async () => {
      await this.db.coins.bulkDelete(row.inputs.map((coin) => coin.secret));
      await this.db.coins.bulkPut(kept.map((coin) => ({ ...coin, mint: row.mint, operation: '' })));
    });
  }

  async #void(row: OperationRow, note: string, states: State[]): Promise<OperationRow> {
    return this.#end(row, { status: 'void', note }, async () => {
      for (const [index, { secret }] of row.inputs.entries()) {
        if (states[index] === 'spent') await this.db.coins.delete(secret);
        else await this.db.coins.update(secret, { operation: '' });
      }
    });
  }

  async #wait(row: OperationRow): Promise<OperationRow> {
    const note = 'The mint reports this as pending.';
    await this.db.operations.update(row.id, { note });
    return { ...row, note };
  }

  /** One transaction: the coins, and that it is over. Whoever comes second changes nothing. */
  async #end(row: OperationRow, end: Partial<OperationRow>, move: () => Promise<void>): Promise<OperationRow> {
    const { coins, operations } = this.db;
    return this.db.transaction('rw', coins, operations, async () => {
      const now = await operations.get(row.id);
      if (now && now.status !== 'open') return now;
      await move();
      await operations.update(row.id, end);
      return { ...row, ...end };
    });
  }

  #told(row: OperationRow): OperationRow {
    if (row.status === 'void') throw new WalletError(row.note);
    return row;
  }
}

function plain({ id, amount, secret, C, dleq, witness }: Coin): Coin {
  return { id, amount, secret, C, ...(dleq && { dleq }), ...(witness && { witness }) };
}
