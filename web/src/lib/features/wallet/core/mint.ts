/** The mint, as the wallet asks it. Every failure is one of two: permanently rejected, or unknown. */
import {
  CheckStateEnum,
  CTSError,
  hashToCurve,
  isMintOperationError,
  KeyChain,
  Mint,
  OutputData,
  setGlobalRequestOptions,
  type Keyset,
  type SerializedBlindedMessage,
  type SerializedBlindedSignature,
} from '@cashu/cashu-ts';
import { coinOf, inputOf } from './coins';
import type { Coin, Output, QuoteRow } from './database';
import { MintRefused, MintUnknown, WalletError } from './errors';
import { errorText } from './errors.text';

const TIMEOUT_MS = 20_000;
setGlobalRequestOptions({ requestTimeout: TIMEOUT_MS });
/** How many coins a mint is asked about at once. */
const BATCH = 100;

export type State = 'unspent' | 'pending' | 'spent';

export class MintLink {
  readonly #mint: Mint;
  readonly #keys: KeyChain;

  constructor(
    readonly url: string,
    readonly unit = 'sat',
  ) {
    this.#mint = new Mint(url);
    this.#keys = new KeyChain(this.#mint, unit);
  }

  /** Know the mint's keys; ids are recomputed, so a mint cannot change a fee under a known one. */
  async load({ refresh = false } = {}): Promise<void> {
    await answered(() => this.#keys.init(refresh));
  }

  /** The keyset that new e-cash is made with. */
  async active(): Promise<Keyset> {
    await this.load();
    const keyset = this.#keys.getCheapestKeyset();
    return answered(() => this.#keys.ensureKeysetKeys(keyset.id));
  }

  /** A keyset by its whole id, also one that is no longer active. */
  async keyset(id: string): Promise<Keyset> {
    await this.load();
    if (!this.#keys.isUnitKeyset(id)) await this.load({ refresh: true });
    if (!this.#keys.isUnitKeyset(id)) throw new WalletError(errorText.foreign);
    return answered(() => this.#keys.ensureKeysetKeys(id));
  }

  async keysetIds(): Promise<string[]> {
    await this.load();
    return this.#keys.getKeysets().map((keyset) => keyset.id);
  }

  /** The fee of a keyset, in thousandths of a sat for each coin. */
  readonly ppk = (id: string): number => this.#keys.getKeyset(id).fee;

  async swap(inputs: readonly Coin[], outputs: readonly Output[]): Promise<Coin[]> {
    const body = { inputs: inputs.map(inputOf), outputs: messagesOf(outputs) };
    const { signatures } = await answered(() => this.#mint.swap(body));
    return this.#coins(outputs, signatures);
  }

  async issue(quote: string, outputs: readonly Output[]): Promise<Coin[]> {
    const { signatures } = await answered(() => this.#mint.mintBolt11({ quote, outputs: messagesOf(outputs) }));
    return this.#coins(outputs, signatures);
  }

  /** What the mint has signed of these outputs (NUT-09): all, or null for none. */
  async restore(outputs: readonly Output[]): Promise<Coin[] | null> {
    const messages = messagesOf(outputs);
    const found = await answered(() => this.#mint.restore({ outputs: messages }));
    if (!found.signatures.length) return null;
    const byMessage = new Map(found.outputs.map((output, index) => [output.B_, found.signatures[index]!]));
    return this.#coins(outputs, messages.map((message) => byMessage.get(message.B_)));
  }

  /** What was ever made from a seed, from a counter on; and the counter after the last of it. */
  async scan(seed: Uint8Array, keysetId: string, from: number, count = BATCH): Promise<{ coins: Coin[]; next: number }> {
    const keyset = await this.keyset(keysetId);
    const blanks = Array.from({ length: count }, (_, index) =>
      OutputData.createSingleDeterministicData(0, seed, from + index, keysetId),
    );
    const found = await answered(() => this.#mint.restore({ outputs: blanks.map((blank) => blank.blindedMessage) }));
    const byMessage = new Map(found.outputs.map((output, index) => [output.B_, found.signatures[index]!]));
    const coins: Coin[] = [];
    let next = from;
    for (const [index, blank] of blanks.entries()) {
      const signature = byMessage.get(blank.blindedMessage.B_);
      if (!signature) continue;
      coins.push(coinOf(blank.toProof(signature, keyset)));
      next = from + index + 1;
    }
    return { coins, next };
  }

  /** How the mint has each coin (NUT-07). */
  async states(coins: readonly Pick<Coin, 'secret'>[]): Promise<State[]> {
    const ys = coins.map(({ secret }) => hashToCurve(new TextEncoder().encode(secret)).toHex(true));
    const found = new Map<string, State>();
    for (let start = 0; start < ys.length; start += BATCH) {
      const asked = ys.slice(start, start + BATCH);
      const { states } = await answered(() => this.#mint.check({ Ys: asked }));
      for (const { Y, state } of states) found.set(Y, stateOf(state));
    }
    return ys.map((y) => {
      const state = found.get(y);
      if (!state) throw new MintUnknown('a coin was left out');
      return state;
    });
  }

  async quote(amount: number, at: number): Promise<QuoteRow> {
    const made = await answered(() => this.#mint.createMintQuoteBolt11({ amount, unit: this.unit }));
    const { quote: id, request, expiry } = made;
    return { id, mint: this.url, amount, request, expiry: expiry ?? 0, at, status: 'unpaid' };
  }

  async quoteState(id: string): Promise<'UNPAID' | 'PAID' | 'ISSUED'> {
    const { state } = await answered(() => this.#mint.checkMintQuoteBolt11(id));
    return state;
  }

  /** Signed outputs as coins. A mint that signs less, otherwise or unproven is not believed. */
  async #coins(outputs: readonly Output[], signatures: readonly (SerializedBlindedSignature | undefined)[]): Promise<Coin[]> {
    if (signatures.length !== outputs.length) throw new MintUnknown('signatures are missing');
    const coins: Coin[] = [];
    for (const [index, { data }] of outputs.entries()) {
      const output = OutputData.deserialize(data);
      const signature = signatures[index];
      const { id, amount } = output.blindedMessage;
      if (!signature || signature.id !== id || !signature.amount.equals(amount) || !signature.dleq) {
        throw new MintUnknown('a signature is not what was asked for');
      }
      const keyset = await this.keyset(id);
      coins.push(await answered(() => Promise.resolve(coinOf(output.toProof(signature, keyset)))));
    }
    return coins;
  }
}

function messagesOf(outputs: readonly Output[]): SerializedBlindedMessage[] {
  return outputs.map(({ data }) => OutputData.deserialize(data).blindedMessage);
}

function stateOf(state: CheckStateEnum): State {
  if (state === CheckStateEnum.SPENT) return 'spent';
  return state === CheckStateEnum.UNSPENT ? 'unspent' : 'pending';
}

/** Ask; a definite no is `MintRefused`, and everything else that fails is `MintUnknown`. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof WalletError) throw error;
    if (isMintOperationError(error)) throw new MintRefused(error.code, error.message);
    if (error instanceof CTSError) throw new MintUnknown(error.message);
    throw error;
  }
}
