/** What can go wrong with money, each with a sentence for the person. */
import { errorText } from './errors.text';

export class WalletError extends Error {}

/** The mint rejected the request permanently. `code` is the protocol's. */
export class MintRefused extends WalletError {
  constructor(
    readonly code: number,
    readonly detail: string,
  ) {
    super(errorText.refused(detail));
  }
}

/** Nobody knows whether it happened. Nothing is lost: it is asked about until it is known. */
export class MintUnknown extends WalletError {
  constructor(readonly detail: string) {
    super(errorText.noAnswer);
  }
}

export class NotEnough extends WalletError {
  constructor(
    readonly has: number,
    readonly needs: number,
  ) {
    super(errorText.notEnough(has, needs));
  }
}
