/** Tokens and payment requests of others: read, and refused where they are not for this wallet. */
import {
  decodePaymentRequest,
  getDecodedToken,
  getEncodedToken,
  getP2PKExpectedWitnessPubkeys,
  getTokenMetadata,
  signP2PKProof,
  type Proof,
  type Token,
} from '@cashu/cashu-ts';
import { coinOf, proofOf } from './coins';
import type { Coin, KeyRow } from './database';
import { WalletError } from './errors';
import { errorText } from './errors.text';
import type { Lock } from './outputs';

const bare = (url: string) => url.trim().replace(/(?<!\/)\/+$/, '');

/** The coins of a token of this mint, each with a signature where it is locked to a key of ours. */
export function coinsOf(text: string, mint: string, keysets: readonly string[], keys: readonly KeyRow[]): Coin[] {
  const token = decoded(text, mint, keysets);
  if ((token.unit ?? 'sat') !== 'sat') throw new WalletError(errorText.unit);
  if (new Set(token.proofs.map((proof) => proof.secret)).size !== token.proofs.length || !token.proofs.length) {
    throw new WalletError(errorText.damagedToken);
  }
  return token.proofs.map((proof) => coinOf(opened(proof, keys)));
}

export function tokenOf(coins: readonly Coin[], mint: string): string {
  return getEncodedToken({ mint, unit: 'sat', proofs: coins.map(proofOf) });
}

function decoded(text: string, mint: string, keysets: readonly string[]): Token {
  let from = '';
  try {
    from = getTokenMetadata(text.trim()).mint;
    if (bare(from) === bare(mint)) return getDecodedToken(text.trim(), keysets);
  } catch {
    throw new WalletError(errorText.noToken);
  }
  throw new WalletError(errorText.otherMint(from, mint));
}

/** Sign what is locked. Plain e-cash has a secret that is no lock. */
function opened(proof: Proof, keys: readonly KeyRow[]): Proof {
  if (!proof.secret.startsWith('[')) return proof;
  let wanted: string[];
  try {
    wanted = getP2PKExpectedWitnessPubkeys(proof.secret);
  } catch {
    throw new WalletError(errorText.unknownLock);
  }
  const key = keys.find((other) => wanted.includes(other.publicKey));
  if (!key) throw new WalletError(errorText.otherKey);
  const { witness: _, ...bareProof } = proof;
  return signP2PKProof(bareProof, key.secretKey);
}

/** A coin of ours whose lock is over, signed with the refund key. */
export function reopened(coin: Coin, keys: readonly KeyRow[]): Coin {
  return coinOf(opened(proofOf(coin), keys));
}

/** The lock that a payment request asks for (NUT-18); anything that we did not agree to is refused. */
export function lockOf(request: string, terms: { mint: string; refund: string; now: number }): Lock {
  const asked = decodePaymentRequest(request);
  const options = asked.toP2PKOptions();
  const key = options?.pubkey;
  const isOurs =
    typeof key === 'string' &&
    /^0[23][0-9a-f]{64}$/.test(key) &&
    asked.unit === 'sat' &&
    asked.mints?.length === 1 &&
    bare(asked.mints[0]!) === bare(terms.mint) &&
    options?.refundKeys?.length === 1 &&
    options.refundKeys[0] === terms.refund &&
    (options.requiredSignatures ?? 1) === 1 &&
    (options.requiredRefundSignatures ?? 1) === 1 &&
    options.sigFlag === undefined &&
    !options.hashlock &&
    !options.additionalTags?.length;
  const locktime = options?.locktime ?? 0;
  if (!isOurs) throw new WalletError(errorText.otherLock);
  if (locktime <= terms.now || locktime > terms.now + LONGEST_LOCK) {
    throw new WalletError(errorText.lockTime);
  }
  return { key, locktime, refund: terms.refund };
}

/** In seconds: what the person cannot reach for so long they should not be asked for. */
const LONGEST_LOCK = 31 * 24 * 3600;
