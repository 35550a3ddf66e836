/** Words that the page needs before the wallet is loaded. */
export const labels = { wallet: 'Wallet', exhausted: 'needs money to go on' } as const;

/** Set by a backup that was taken in: what it is worth, the mint has to say. */
export const UNCHECKED = 'bathysphere.wallet.unchecked';
