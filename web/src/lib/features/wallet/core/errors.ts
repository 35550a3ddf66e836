/** What can go wrong with money, each with a sentence for the person. */
export class WalletError extends Error {}

/** The mint rejected the request permanently. `code` is the protocol's. */
export class MintRefused extends WalletError {
  constructor(
    readonly code: number,
    readonly detail: string,
  ) {
    super(`The mint rejected the request: ${detail}`);
  }
}

/** Nobody knows whether it happened. Nothing is lost: it is asked about until it is known. */
export class MintUnknown extends WalletError {
  constructor(readonly detail: string) {
    super('The mint did not respond. Nothing is lost: this continues automatically when it does.');
  }
}

export class NotEnough extends WalletError {
  constructor(
    readonly has: number,
    readonly needs: number,
  ) {
    super(`The wallet has ${has} sats, but this needs ${needs}.`);
  }
}
