// Export, wipe, import: the money is kept, also what was spent and made after the export. Then by words.
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accessible, assert, eventually, open, story } from './kit.mjs';
import { begin, budget, fund, hasBalance, line, settled, showWallet } from './wallet_kit.mjs';

await story(async ({ page, browser }) => {
  await begin(page, 1000);
  await page.getByRole('link', { name: 'Documents' }).click();
  await page.getByText('Backup', { exact: true }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export everything' }).click()]);
  const file = join(mkdtempSync(join(tmpdir(), 'wallet-')), 'backup.json');
  await download.saveAs(file);
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).wallet.coins.reduce((sum, coin) => sum + coin.amount, 0), 1000);

  await page.getByRole('button', { name: 'New conversation' }).click();
  await budget(page, 256);
  await line(page).getByText('Wallet 743 sats').waitFor();
  await showWallet(page);
  await fund(page, 77);
  await hasBalance(page, 820);

  await page.getByRole('link', { name: 'Documents' }).click();
  await page.getByText('Backup', { exact: true }).click();
  await page.getByRole('button', { name: 'Delete all data' }).click();
  await page.getByText('The wallet contains 820 sats.').waitFor();
  await page.getByRole('button', { name: 'Delete everything', exact: true }).click();
  await showWallet(page);
  await hasBalance(page, 0);

  await page.getByRole('link', { name: 'Documents' }).click();
  await page.getByText('Backup', { exact: true }).click();
  await page.locator('input[type=file][accept=".json"]').setInputFiles(file);
  await page.getByRole('button', { name: 'It’s mine, use this wallet' }).click();
  await page.getByText('Wallet restored').waitFor();
  await showWallet(page);
  await hasBalance(page, 820);
  await page.getByRole('button', { name: 'Show the 12 words' }).click();
  const words = await page.locator('ol li').allInnerTexts();
  assert.equal(words.length, 12);
  await accessible(page, 'words');

  // Another browser, with nothing but the words; the budget of the conversation comes back there.
  const elsewhere = await browser.newContext();
  const fresh = await elsewhere.newPage();
  await open(fresh);
  await showWallet(fresh);
  await fresh.getByText('Restore from 12 words').click();
  await fresh.getByRole('textbox', { name: 'Your 12 words' }).fill(words.join(' '));
  await fresh.getByRole('button', { name: 'Restore wallet' }).click();
  await fresh.getByText('Found 820 sats.').waitFor();
  await hasBalance(fresh, 820);
  await fresh.getByRole('button', { name: 'Finish and refund' }).first().click();
  await hasBalance(fresh, 820 + 254);
  const { coins } = await eventually(() => settled(fresh));
  await elsewhere.close();
  return { balance: 820 + 254, coins };
});
