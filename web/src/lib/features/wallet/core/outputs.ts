/** Outputs: e-cash before it is signed. All come from the seed and a counter, locked ones too. */
import {
  blindMessage,
  deriveSecretAndBlindingFactor,
  OutputData,
  splitAmount,
  type HasKeysetKeys,
} from '@cashu/cashu-ts';
import type { Output } from './database';
import { WalletError } from './errors';
import { errorText } from './errors.text';
import { hex } from './words';

/** Who can open it: the key at any time, the refund key once the locktime is over. */
export interface Lock {
  key: string;
  locktime: number;
  refund: string;
}

export interface Wanted {
  kept: number;
  sent: number;
  lock?: Lock;
}

/** How many counters an operation takes. */
export function partsOf(wanted: Wanted, keyset: HasKeysetKeys): { kept: number[]; sent: number[] } {
  const split = (amount: number) =>
    amount > 0 ? splitAmount(amount, keyset.keys).map((part) => part.toNumber()) : [];
  return { kept: split(wanted.kept), sent: split(wanted.sent) };
}

/** The outputs of an operation, from a counter on; sorted by amount, so that their order tells nothing. */
export function outputsFor(wanted: Wanted, seed: Uint8Array, counter: number, keyset: HasKeysetKeys): Output[] {
  const { kept, sent } = partsOf(wanted, keyset);
  const plain = kept.map((amount, index) => ({
    data: OutputData.createSingleDeterministicData(amount, seed, counter + index, keyset.id),
    isSent: false,
  }));
  const locked = sent.map((amount, index) => {
    if (!wanted.lock) throw new WalletError(errorText.noLock);
    return { data: lockedOutput(amount, wanted.lock, seed, counter + kept.length + index, keyset.id), isSent: true };
  });
  return [...plain, ...locked]
    .sort((a, b) => a.data.blindedMessage.amount.compareTo(b.data.blindedMessage.amount))
    .map(({ data, isSent }) => ({ data: OutputData.serialize(data), isSent }));
}

/** A lock (NUT-11) whose nonce and blinding factor are those of a counter (NUT-13). */
function lockedOutput(amount: number, lock: Lock, seed: Uint8Array, counter: number, keyset: string): OutputData {
  const { secret: nonce, blindingFactor } = deriveSecretAndBlindingFactor(seed, keyset, counter);
  const blank = OutputData.createSingleDeterministicData(amount, seed, counter, keyset);
  const secret = new TextEncoder().encode(secretOf(lock, hex(nonce)));
  const { B_, r } = blindMessage(secret, BigInt(`0x${hex(blindingFactor)}`));
  return new OutputData({ ...blank.blindedMessage, B_: B_.toHex(true) }, r, secret);
}

export function secretOf({ key, locktime, refund }: Lock, nonce: string): string {
  const tags = [
    ['sigflag', 'SIG_INPUTS'],
    ['locktime', String(locktime)],
    ['refund', refund],
  ];
  return JSON.stringify(['P2PK', { nonce, data: key, tags }]);
}
