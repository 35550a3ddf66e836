// Each view of the wallet, light and dark, on a desk and on a phone, without a violation; pictures on demand.
import { accessible, inEachForm, open, rest, says, shoot, showChat, showConversations, story } from './kit.mjs';
import { ask, dock, fund, hasBalance, line } from './wallet_kit.mjs';

await story(async ({ page }) => {
  const look = (name, prepare = () => {}) =>
    inEachForm(page, async (form, theme) => {
      await prepare();
      await accessible(page, `${name}, ${theme}, ${form}`);
      await shoot(page, `wallet-${name}-${form}-${theme}`);
    });
  const chat = () => showChat(page);
  const wallet = () => page.getByRole('heading', { name: 'Wallet', exact: true }).waitFor(); // "Chat" would leave its page

  await open(page);
  await line(page).waitFor();
  await look('line', chat);
  await line(page).getByRole('button', { name: 'Set a budget' }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByRole('button', { name: 'Pay 257 sats and set the budget' }).waitFor();
  await look('budget-empty');
  await sheet.getByText('Use a token instead').click();
  await look('budget-token');
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });

  await page.goto(new URL('/wallet', page.url()).href);
  await hasBalance(page, 0);
  await look('page-empty', wallet);
  let isPaid = false;
  const asked = (route) => (isPaid ? route.continue() : route.fulfill({ json: { state: 'UNPAID' } }));
  await page.route('**/v1/mint/quote/bolt11/*', asked);
  await fund(page, 1000);
  await page.getByText('Waiting for payment').waitFor();
  await look('invoice', wallet);
  isPaid = true;
  await hasBalance(page, 1000);

  await showConversations(page);
  await page.getByRole('button', { name: 'New conversation' }).click();
  await line(page).getByRole('button', { name: 'Set a budget' }).click();
  await page.getByRole('dialog').getByText('Enough for about 5 model calls.').waitFor();
  await look('budget');
  await page.getByRole('dialog').getByRole('spinbutton').fill('60');
  await page.keyboard.press('Enter'); // by keys alone
  await line(page).getByText('59 sats left').waitFor();
  await look('line-budget', chat);
  await ask(page, 'Count to two');
  await dock(page).getByText('The next model call costs 50 sats. Your budget has 9 sats left.').waitFor();
  await look('exhausted', chat);
  await dock(page).getByText('Pay with another wallet').click();
  await look('exhausted-other', chat);
  await dock(page).getByRole('button', { name: /and go on/ }).click();
  await says(page, 'Counted to two.');
  await rest(page);
  await page.goto(new URL('/wallet', page.url()).href);
  await page.getByRole('button', { name: 'Finish and refund' }).waitFor();
  await page.getByRole('button', { name: 'Show the 12 words' }).click();
  await page.getByText('Restore from 12 words').click();
  await look('page', wallet);
  await page.getByRole('button', { name: 'Finish and refund' }).click();
  await hasBalance(page, 1000 - 61 - 102 + 58);
});
