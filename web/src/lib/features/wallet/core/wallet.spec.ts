/** The wallet's pure parts: choosing coins, fees, locks, words, requests that are refused. */
import 'fake-indexeddb/auto';
import { OutputData, PaymentRequest } from '@cashu/cashu-ts';
import { describe, expect, it } from 'vitest';
import { checkedWallet, exportWallet, importWallet } from './backup';
import { choose, feeOf, spendable, sum } from './coins';
import { WalletDatabase, type Coin } from './database';
import { outputsFor, partsOf, secretOf } from './outputs';
import { lockOf } from './tokens';
import { bytesOf, keyOf, newSeed, seedOf } from './words';

const KEYSET = { id: `01${'ab'.repeat(32)}`, keys: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [String(2 ** n), `02${'11'.repeat(32)}`])) };
const WORDS = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const MINT = 'https://mint.example';
const ours = `02${'aa'.repeat(32)}`;
const theirs = `03${'bb'.repeat(32)}`;
const ppk = () => 100;

const coins = (...amounts: number[]): Coin[] =>
  amounts.map((amount, index) => ({ id: KEYSET.id, amount, secret: `s${index}`, C: '02' }));

describe('a backup that somebody else made', () => {
  const planted = async () => {
    const theirs = new WalletDatabase(crypto.randomUUID());
    await theirs.seeds.add(seedOf(WORDS, 1));
    return checkedWallet(JSON.parse(JSON.stringify(await exportWallet(theirs))));
  };

  it('does not become the wallet that new money is put in', async () => {
    const db = new WalletDatabase(crypto.randomUUID());
    await importWallet(db, await planted());
    expect((await db.seeds.toArray()).map((seed) => seed.isCurrent)).toEqual([false]);
  });

  it('becomes it where the person agreed and there is no other', async () => {
    const [empty, used] = [new WalletDatabase(crypto.randomUUID()), new WalletDatabase(crypto.randomUUID())];
    await importWallet(empty, await planted(), { adopt: true });
    expect((await empty.seeds.toArray()).map((seed) => seed.isCurrent)).toEqual([true]);
    const own = newSeed(2);
    await used.seeds.add(own);
    await importWallet(used, await planted(), { adopt: true });
    expect((await used.seeds.toArray()).filter((seed) => seed.isCurrent).map((seed) => seed.id)).toEqual([own.id]);
  });
});

describe('choosing coins', () => {
  it('rounds the fee up over all coins', () => {
    expect([0, 1, 10, 11].map((count) => feeOf(coins(...Array<number>(count).fill(1)), ppk))).toEqual([0, 1, 1, 2]);
  });

  it('covers the amount and the fee, exactly', () => {
    for (let amount = 1; amount <= 126; amount += 1) {
      const chosen = choose(coins(64, 32, 16, 8, 4, 2, 1), amount, ppk);
      expect(sum(chosen.coins)).toBe(amount + chosen.fee + chosen.change);
      expect(chosen.change).toBeGreaterThanOrEqual(0);
    }
    expect(() => choose(coins(64, 32, 16, 8, 4, 2, 1), 127, ppk)).toThrow('127 sats, but this needs 128');
  });

  it('tidies up small change where that costs nothing', () => {
    const { coins: used, fee } = choose(coins(64, 1, 1, 1), 8, ppk);
    expect([used.length, fee]).toEqual([4, 1]);
    expect(choose(coins(64, ...Array<number>(30).fill(1)), 8, ppk).coins).toHaveLength(10);
  });

  it('knows the most that can be spent', () => {
    expect(spendable(coins(64, 32), ppk)).toBe(95);
    expect(spendable([], ppk)).toBe(0);
  });
});

describe('outputs', () => {
  const seed = bytesOf(seedOf(WORDS, 0));
  const lock = { key: theirs, locktime: 1_800_000_000, refund: ours };
  const wanted = { kept: 743, sent: 256, lock };

  it('are the same whenever they are made again, locked ones too', () => {
    expect(outputsFor(wanted, seed, 7, KEYSET)).toEqual(outputsFor(wanted, seed, 7, KEYSET));
    expect(outputsFor(wanted, seed, 8, KEYSET)).not.toEqual(outputsFor(wanted, seed, 7, KEYSET));
  });

  it('never use a counter twice', () => {
    const { kept, sent } = partsOf(wanted, KEYSET);
    const next = 7 + kept.length + sent.length;
    const secrets = [...outputsFor(wanted, seed, 7, KEYSET), ...outputsFor(wanted, seed, next, KEYSET)].map(({ data }) => data.blindingFactor);
    expect(new Set(secrets).size).toBe(secrets.length);
  });

  it('add up, and their order does not tell which are locked', () => {
    const made = outputsFor({ ...wanted, kept: 3, sent: 6 }, seed, 0, KEYSET);
    expect(made.map(({ data }) => Number(data.blindedMessage.amount))).toEqual([1, 2, 2, 4]);
    expect(sum(made.filter(({ isSent }) => isSent).map(({ data }) => ({ amount: Number(data.blindedMessage.amount) })))).toBe(6);
  });

  it('are locked as the server reads it: docs/payments-protocol.md', () => {
    const [made] = outputsFor({ kept: 0, sent: 4, lock }, seed, 0, KEYSET);
    const secret = new TextDecoder().decode(OutputData.deserialize(made!.data).secret);
    const nonce = JSON.parse(secret)[1].nonce as string;
    expect(nonce).toMatch(/^[0-9a-f]{64}$/);
    expect(secret).toBe(secretOf(lock, nonce));
    expect(secret).toBe(
      `["P2PK",{"nonce":"${nonce}","data":"${theirs}","tags":[["sigflag","SIG_INPUTS"],["locktime","1800000000"],["refund","${ours}"]]}]`,
    );
  });
});

describe('words', () => {
  it('are twelve, and make the same keys again', () => {
    const seed = newSeed(1);
    expect(seed.words.split(' ')).toHaveLength(12);
    const again = seedOf(`  ${seed.words.toUpperCase().replace(/ /g, '\n ')}`, 2);
    expect(again.id).toBe(seed.id);
    expect(keyOf(again, 'thread 1')).toEqual(keyOf(seed, 'thread 1'));
    expect(keyOf(seed, 'thread 2').publicKey).not.toBe(keyOf(seed, 'thread 1').publicKey);
    expect(keyOf(newSeed(1), 'thread 1').publicKey).not.toBe(keyOf(seed, 'thread 1').publicKey);
  });

  it('with a mistake in them are refused', () => {
    expect(() => seedOf(WORDS.replace('yellow', 'year'), 0)).toThrow('not valid wallet words');
  });
});

describe('a payment request', () => {
  const now = 1_800_000_000;
  const good: string[][] = [['sigflag', 'SIG_INPUTS'], ['locktime', String(now + 3600)], ['refund', ours]];
  const asked = (tags = good, { data = theirs, mint = MINT, unit = 'sat', kind = 'P2PK' } = {}) =>
    new PaymentRequest([], 'id', 100, unit, [mint], undefined, true, { kind: kind, data, tags }).toEncodedCreqA();
  const read = (request: string) => lockOf(request, { mint: MINT, refund: ours, now });

  it('of the server is read', () => {
    expect(read(asked())).toEqual({ key: theirs, locktime: now + 3600, refund: ours });
  });

  it.each([
    ['that gives others a key', asked([...good, ['pubkeys', ours]])],
    ['that refunds to somebody else', asked([good[0]!, good[1]!, ['refund', theirs]])],
    ['that refunds to two', asked([good[0]!, good[1]!, ['refund', ours, theirs]])],
    ['without a refund', asked([good[0]!, good[1]!])],
    ['without an end', asked([good[0]!, good[2]!])],
    ['that is over', asked([good[0]!, ['locktime', String(now)], good[2]!])],
    ['that lasts a year', asked([good[0]!, ['locktime', String(now + 365 * 86_400)], good[2]!])],
    ['of another mint', asked(good, { mint: 'https://evil.example' })],
    ['in another unit', asked(good, { unit: 'usd' })],
    ['that wants all signed', asked([['sigflag', 'SIG_ALL'], good[1]!, good[2]!])],
    ['with tags that we do not know', asked([...good, ['more', 'x']])],
  ])('%s is refused', (_, request) => {
    expect(() => read(request)).toThrow('The server requires a lock');
  });
});

describe('a backup', () => {
  const empty = { version: 1, seeds: [], counters: [], keys: [], coins: [], operations: [], quotes: [], accounts: [] };
  const coin = { id: 'k', secret: 's', C: 'c', mint: MINT, operation: '', amount: 4 };

  it('is checked before anything is written', () => {
    expect(checkedWallet({ ...empty, coins: [coin] }).coins).toHaveLength(1);
    for (const bad of [null, {}, { ...empty, version: 2 }, { ...empty, coins: [{ ...coin, amount: -4 }] }, { ...empty, coins: [{ ...coin, secret: 7 }] }]) {
      expect(() => checkedWallet(bad)).toThrow('damaged');
    }
  });
});
