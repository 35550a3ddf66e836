// The mint does what it is asked and its answer is lost: after a reload nothing is.
import { assert, open, story } from './kit.mjs';
import { budget, fund, hasBalance, line, settled, showWallet } from './wallet_kit.mjs';

/** Lose the answer to the next request to a path of the mint, after the mint has seen it. */
function lose(page, path) {
  let isLost = false;
  return new Promise((lost) => {
    page.route(`**${path}`, async (route) => {
      if (isLost || route.request().method() !== 'POST') return route.fallback();
      isLost = true;
      await route.fetch();
      await route.abort('connectionreset');
      lost();
    });
  });
}

await story(
  async ({ page }) => {
    await open(page);
    // An invoice that was paid and whose e-cash never arrived.
    await showWallet(page);
    const issued = lose(page, '/v1/mint/bolt11');
    await fund(page, 1000);
    await issued;
    await page.reload();
    await hasBalance(page, 1000);

    // A budget that was locked, and whose token never arrived.
    await page.getByRole('button', { name: 'New conversation' }).click();
    const locked = lose(page, '/v1/swap');
    const sheet = await budget(page, 256);
    await locked;
    await sheet.getByText('Nothing is lost').waitFor();
    await page.reload();
    await line(page).getByText('255 sats left').waitFor();
    await line(page).getByText('Wallet 743 sats').waitFor();

    // A budget that the server took, and whose answer never arrived.
    const taken = lose(page, '/payments/deposit');
    await budget(page, 100);
    await taken;
    await page.reload();
    await line(page).getByText('354 sats left').waitFor();
    await line(page).getByText('Wallet 642 sats').waitFor();

    // A refund that was taken, and whose e-cash never arrived. Two deposits: two refunds.
    const refunded = lose(page, '/v1/swap');
    await line(page).getByRole('button', { name: 'Finish and refund' }).click();
    await refunded;
    await page.reload();
    await line(page).getByText('352 sats refunded').waitFor();
    await showWallet(page);
    await hasBalance(page, 642 + 352);
    const { coins, operations } = await settled(page);
    assert.deepEqual(operations.map((row) => row.status).filter((status) => status !== 'done'), []);
    return { balance: 642 + 352, coins };
  },
  { allows: /ERR_CONNECTION_RESET/, serviceWorkers: 'block' },
);
