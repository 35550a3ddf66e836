/** Where the wallet keeps small things of this browser. */

/** Set by a backup that was taken in: what it is worth, the mint has to say. */
export const UNCHECKED = 'bathysphere.wallet.unchecked';

/** The low-balance notice that was dismissed last. */
export const DISMISSED = 'bathysphere.wallet.low.dismissed';
