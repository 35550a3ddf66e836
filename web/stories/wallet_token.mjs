// A token of somebody else is taken in; declined, a run stops with a sentence; another wallet pays a request.
import { assert, rest, story } from './kit.mjs';
import { ask, begin, dock, hasBalance, line, says, settled, showWallet } from './wallet_kit.mjs';

const [token, spent, foreign] = process.env.STORY_TOKENS.split(' ');

await story(async ({ page }) => {
  await begin(page, 100);
  await page.getByRole('button', { name: 'By token' }).click();
  const field = page.getByRole('textbox', { name: 'Token' });
  const take = async (words) => {
    await field.fill(words);
    await page.getByRole('button', { name: 'Redeem' }).click();
  };
  await take(token);
  await page.getByText('63 sats added to your wallet.').waitFor();
  await take(spent);
  await page.getByText('already been spent elsewhere').waitFor();
  await take(foreign);
  await page.getByText('only e-cash from').waitFor();
  await take('cashuBnothing');
  await page.getByText('This is not a token from this mint').waitFor();
  await hasBalance(page, 163);

  await page.getByRole('button', { name: 'New conversation' }).click();
  await ask(page, 'Say something');
  await dock(page).getByText('This conversation has no budget yet. A model call costs 50 sats.').waitFor();
  await dock(page).getByRole('button', { name: 'Stop here' }).click();
  await says(page, 'the next step was not paid for');
  await rest(page);

  await ask(page, 'Say it now');
  await dock(page).getByRole('button', { name: /and go on/ }).click();
  await says(page, 'Something.');
  await rest(page);
  await line(page).getByText('50 spent').waitFor();
  await line(page).getByRole('button', { name: 'Finish and refund' }).click();
  await line(page).getByText(/refunded/).waitFor();
  await showWallet(page);
  const { coins } = await settled(page);
  const balance = coins.reduce((sum, coin) => sum + coin.amount, 0);
  await hasBalance(page, balance);
  assert.equal(balance, 163 - 102 + 49);
  return { balance, coins };
}, { allows: /status of 400/ }); // the mint says so of a spent token
