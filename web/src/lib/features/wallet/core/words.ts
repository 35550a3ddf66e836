/** Seed words (BIP-39), and what is made from a seed: coins by NUT-13, and keys for refunds. */
import { deriveSecretAndBlindingFactor, getPubKeyFromPrivKey, computeMessageDigest } from '@cashu/cashu-ts';
import { generateMnemonic, mnemonicToSeedSync, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import type { KeyRow, SeedRow } from './database';
import { WalletError } from './errors';
import { errorText } from './errors.text';

export function newSeed(at: number): SeedRow {
  return seedOf(generateMnemonic(wordlist), at);
}

/** A seed from words that somebody typed. */
export function seedOf(typed: string, at: number): SeedRow {
  const words = typed.trim().toLowerCase().split(/\s+/).join(' ');
  if (!validateMnemonic(words, wordlist)) throw new WalletError(errorText.words);
  const id = computeMessageDigest(`bathysphere wallet ${words}`, true).slice(0, 16);
  return { id, words, at, isCurrent: true };
}

const known = new Map<string, Uint8Array>();

/** The 64 bytes; a tenth of a second of work, so they are remembered while the page is open. */
export function bytesOf(seed: SeedRow): Uint8Array {
  const bytes = known.get(seed.id) ?? mnemonicToSeedSync(seed.words);
  known.set(seed.id, bytes);
  return bytes;
}

/** The key for a conversation's refunds: the same whenever it is made again from the words. */
export function keyOf(seed: SeedRow, threadId: string): KeyRow {
  const place = `01${computeMessageDigest(`bathysphere refunds of ${threadId}`, true)}`;
  const { blindingFactor } = deriveSecretAndBlindingFactor(bytesOf(seed), place, 0);
  return { publicKey: hex(getPubKeyFromPrivKey(blindingFactor)), secretKey: hex(blindingFactor), threadId };
}

export function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
