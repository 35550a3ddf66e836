/** The wallet's part of the workspace's backup. */
import { writeStored } from '$lib/browser-storage';
import type { BackupPart } from '$lib/extensions/types';
import { BackupError } from '$lib/extensions/backup-error';
import { checkedWallet, exportWallet, importWallet, lacksSeed, wipeWallet } from './core/backup';
import { walletDatabase } from './core/database';
import { UNCHECKED } from './storage-keys';
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
      throw new BackupError((error as Error).message);
    }
  },
  async question(value) {
    const hasSeed = checkedWallet(value).seeds.some((seed) => seed['isCurrent'] === true);
    return hasSeed && (await lacksSeed(walletDatabase())) ? text.backup.question : null;
  },
  async import(value, isAgreed) {
    await importWallet(walletDatabase(), checkedWallet(value), { adopt: isAgreed });
    writeStored(UNCHECKED, '1');
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
