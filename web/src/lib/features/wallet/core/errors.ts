/** What can go wrong with money, each with a sentence for the person. */
export class WalletError extends Error {}

/** The mint said no, for good. `code` is the protocol's. */
export class MintRefused extends WalletError {
  constructor(
    readonly code: number,
    readonly detail: string,
  ) {
    super(`The mint refused: ${detail}`);
  }
}

/** Nobody knows whether it happened. Nothing is lost: it is asked about until it is known. */
export class MintUnknown extends WalletError {
  constructor(readonly detail: string) {
    super('The mint did not answer. Nothing is lost: this goes on by itself when it does.');
  }
}

export class NotEnough extends WalletError {
  constructor(
    readonly has: number,
    readonly needs: number,
  ) {
    super(`There are ${has} sats in the wallet, and this needs ${needs}.`);
  }
}
