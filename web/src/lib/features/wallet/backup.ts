/** The wallet's part of the workspace's backup. */
import type { BackupPart } from '$lib/extend/extension';
import { DocumentError } from '$lib/files/documents';
import { checkedWallet, exportWallet, importWallet, wipeWallet } from '$lib/wallet/backup';
import { walletDatabase } from '$lib/wallet/database';
import { UNCHECKED } from './labels';
import { payments } from './payments.svelte';
import { text } from './text';

export default {
  name: 'wallet',
  async export() {
    const whole = await exportWallet(walletDatabase());
    return whole.seeds.length ? whole : null;
  },
  check(value) {
    try {
      checkedWallet(value);
    } catch (error) {
      throw new DocumentError((error as Error).message);
    }
  },
  async import(value) {
    await importWallet(walletDatabase(), checkedWallet(value));
    localStorage.setItem(UNCHECKED, '1');
    void payments.purse?.sweep();
    return text.backup.taken;
  },
  wipe: () => wipeWallet(walletDatabase()),
  async warning() {
    const coins = await walletDatabase().coins.toArray();
    const worth = coins.reduce((sum, coin) => sum + coin.amount, 0);
    return worth ? text.backup.warning(worth) : '';
  },
} satisfies BackupPart;
