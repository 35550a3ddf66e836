// One step to pay: the button names what the invoice asks for, and once it is paid the run goes on by itself,
// after a reload, with two tabs open, and on a phone. Then the balance is low, and a line says so.
import { accessible, assert, eventually, inEachForm, isOnPhone, open, PHONE, rest, says, shoot, showChat, story } from './kit.mjs';
import { ask, dock, hasBalance, line, settled, showWallet, tables } from './wallet_kit.mjs';

/** Until it is told otherwise the mint says that nothing was paid. */
async function unpaid(context) {
  let isPaid = false;
  await context.route('**/v1/mint/quote/bolt11/*', async (route) => {
    const response = await route.fetch({ maxRetries: 2 }); // the mint may close an idle connection
    const json = await response.json();
    await route.fulfill({ response, json: isPaid ? json : { ...json, state: 'UNPAID' } });
  });
  return (now) => (isPaid = now);
}

async function look(page, name) {
  await inEachForm(page, async (form, theme) => {
    await showChat(page);
    await accessible(page, `${name}, ${theme}, ${form}`);
    await shoot(page, `wallet-${name}-${form}-${theme}`);
  });
}

const invoice = (page) => dock(page).getByRole('textbox', { name: 'Lightning invoice' });
const code = (page, sats) => dock(page).getByRole('img', { name: `QR code of the invoice for ${sats} sats` });

/** The invoice is the one that the button named: a hundred nanobitcoin is ten sats. */
async function isFor(page, sats) {
  await dock(page).getByText(`Pay this invoice for ${sats} sats`).waitFor();
  const words = await invoice(page).inputValue();
  assert.match(words, new RegExp(`^lnbc${sats * 10}n1[02-9ac-hj-np-z]+$`));
  await code(page, sats).waitFor();
  return words;
}

await story(async ({ page, context }) => {
  const say = await unpaid(context);
  await open(page);
  await ask(page, 'Count to two');
  await dock(page).getByText('This conversation has no budget yet. A model call costs 50 sats.').waitFor();
  await dock(page).getByText('Adds 100 sats to this conversation; the mint’s fees of 2 sats are included. Enough for about 2 model calls.').waitFor();
  await dock(page).getByText('≈ €0.06').waitFor();
  await look(page, 'pay');
  await dock(page).getByRole('button', { name: 'Pay 102 sats and go on' }).click();
  const asked = await isFor(page, 102);
  assert.equal(await dock(page).getByRole('link', { name: 'Open in wallet' }).count(), isOnPhone ? 1 : 0);
  await look(page, 'pay-invoice');

  // Away and back, a reload, a second tab: the same invoice.
  await showWallet(page);
  await page.goBack();
  assert.equal(await isFor(page, 102), asked);
  await page.reload();
  assert.equal(await isFor(page, 102), asked);
  const other = await context.newPage();
  await other.goto(page.url());
  assert.equal(await isFor(other, 102), asked);

  // Paid: nothing more to click, and two calls are what two calls cost.
  say(true);
  await says(page, 'Counted to two.');
  await says(other, 'Counted to two.');
  await rest(page);
  await line(page).getByText('0 sats left').waitFor();
  await line(page).getByText('100 spent').waitFor();
  const { quotes, pledges, operations } = await tables(page);
  assert.deepEqual([quotes.length, pledges.map((row) => row.status)], [1, ['done']]);
  assert.deepEqual(operations.map((row) => row.kind).sort(), ['lock', 'mint']);
  await other.close();

  // On a phone, with another amount; given up first, and then paid.
  say(false);
  const own = page.viewportSize();
  await page.setViewportSize(PHONE);
  await ask(page, 'Once more');
  await dock(page).getByText('The next model call costs 50 sats. Your budget has nothing left.').waitFor();
  await dock(page).getByText('Another amount, or a token').click();
  const amount = dock(page).getByRole('spinbutton', { name: 'Sats to top up' });
  await amount.fill('49');
  await dock(page).getByText('Not enough for one model call.').waitFor();
  assert.ok(await dock(page).getByRole('button', { name: 'Pay 51 sats and go on' }).isDisabled());
  await amount.fill('190');
  const pay = dock(page).getByRole('button', { name: 'Pay 192 sats and go on' });
  await pay.click();
  await isFor(page, 192);
  await dock(page).getByRole('button', { name: 'Cancel payment' }).click();
  await dock(page).getByText('Another amount, or a token').click();
  await amount.fill('190');
  await pay.click();
  const second = await isFor(page, 192);
  assert.equal(await dock(page).getByRole('link', { name: 'Open in wallet' }).getAttribute('href'), `lightning:${second}`);
  say(true);
  await says(page, 'Counted once more.');
  await rest(page);
  await page.setViewportSize(own);

  // Low, and said so once. The invoice that was given up was paid too, and is in the wallet.
  const low = page.getByText('About 2 model calls left.');
  await low.waitFor();
  await line(page).getByText('140 sats left').waitFor();
  await line(page).getByText('Wallet 192 sats').waitFor();
  await look(page, 'low');
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await low.waitFor({ state: 'detached' });
  await page.reload();
  await line(page).getByText('140 sats left').waitFor();
  assert.equal(await low.count(), 0);

  await line(page).getByRole('button', { name: 'Finish and refund' }).click();
  await line(page).getByText('139 sats refunded').waitFor();
  await showWallet(page);
  await hasBalance(page, 192 + 139);
  const { coins } = await eventually(() => settled(page));
  return { balance: 192 + 139, coins };
});
