// Fund from the mint, lock 256, run until exhausted, top up, finish, receive the refund.
import { accessible, assert, eventually, open, rest, showPanel, story } from './kit.mjs';
import { ask, balance, budget, dock, fund, hasBalance, line, says, settled, showConversation, showWallet } from './wallet_kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await line(page).getByText('50 sats per model call').waitFor(); // before anything is run
  await showWallet(page);
  await hasBalance(page, 0);
  await fund(page, 1000);
  await page.getByText('Paid. 1,000 sats added to your wallet.').waitFor();
  await hasBalance(page, 1000);
  await page.getByRole('button', { name: 'New conversation' }).click();

  await budget(page, 256);
  await line(page).getByText('255 sats left').waitFor(); // 1 sat is the mint's, for the settlement
  await line(page).getByText('Wallet 743 sats').waitFor();
  await ask(page, 'Count to five');
  await dock(page).getByText('The next model call costs 50 sats. Your budget has 5 sats left.').waitFor();
  await line(page).getByText('250 spent').waitFor();
  await accessible(page, 'exhausted');

  await dock(page).getByText('Paid from your wallet.').waitFor();
  await dock(page).getByRole('button', { name: 'Pay 102 sats and go on' }).click();
  await says(page, 'Counted to five.');
  await rest(page);
  await line(page).getByText('55 sats left').waitFor();
  await line(page).getByText('300 spent').waitFor();
  await showPanel(page, 'Work');
  const meter = page.getByRole('region', { name: 'Used in this run' });
  await eventually(async () => assert.match(await meter.innerText(), /sats in total\s*300/));

  await line(page).getByRole('button', { name: 'Finish and refund' }).click();
  await line(page).getByText('54 sats refunded').waitFor();
  await line(page).getByText('Wallet 695 sats').waitFor();
  await showWallet(page);
  await hasBalance(page, 695);
  const { coins } = await settled(page);
  await page.reload();
  await hasBalance(page, 695);
  assert.equal(coins.reduce((sum, coin) => sum + coin.amount, 0), await balance(page));
  await showConversation(page, 'Count to five');
  await line(page).getByText('54 sats refunded').waitFor();
  return { balance: 695, coins };
});
