// Two tabs have one wallet: both pay at once, both show the same, no sat is spent twice.
import { assert, eventually, open, story } from './kit.mjs';
import { begin, budget, hasBalance, line, settled, showWallet } from './wallet_kit.mjs';

await story(async ({ page, context }) => {
  await begin(page, 1000);
  const other = await context.newPage();
  await open(other);
  await showWallet(other);
  await hasBalance(other, 1000);
  for (const tab of [page, other]) await tab.getByRole('button', { name: 'New conversation' }).click();
  // Both need the large coins: one waits for the other's change.
  await Promise.all([budget(page, 300), budget(other, 400)]);
  await line(page).getByText('299 sats left').waitFor();
  await line(other).getByText('399 sats left').waitFor();
  for (const tab of [page, other]) await line(tab).getByText('Wallet 298 sats').waitFor();
  await Promise.all([page, other].map((tab) => line(tab).getByRole('button', { name: 'Finish and refund' }).click()));
  await line(page).getByText('298 sats refunded').waitFor();
  await line(other).getByText('398 sats refunded').waitFor();
  for (const tab of [page, other]) {
    await showWallet(tab);
    await hasBalance(tab, 994);
  }
  const { coins, operations } = await settled(page);
  await eventually(() => assert.equal(operations.filter((row) => row.kind === 'refund').length, 2));
  return { balance: 994, coins };
});
