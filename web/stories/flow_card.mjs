// A payment whose account stands in a document: the card says so, and the passage is one click away.
// The document is trusted, which spares the next question, until that is taken back.
import { accessible, ask, assert, COLD, everyForm, open, rest, showPanel, story } from './kit.mjs';
import { backupOf, importBackup, openDocuments, panel, patient } from './documents.mjs';

const bill = `Invoice 12\n\nPlease pay 250 EUR to\nDE89370400440532013000 by Friday.\n`;
const ACCOUNT = 'DE89370400440532013000';

await story(async ({ page, context }) => {
  patient(context);
  await open(page);
  await openDocuments(page);
  await importBackup(page, backupOf([{ id: 'doc-bill', title: 'bill.md', text: bill }]));
  await showPanel(page, 'Work');
  await ask(page, 'Pay my bills', { agent: 'Payer' });
  const dock = page.getByRole('region', { name: 'Agent requests' });
  const why = dock.getByRole('list', { name: 'Why you are asked' });
  await why.waitFor(COLD);
  const [account, amount] = await why.getByRole('listitem').all();
  assert.match(await account.innerText(), /^DE89370400440532013000 — this recipient came from your document bill\.md, line 4; you did not mention it\./);
  assert.match(await amount.innerText(), /^250 — this amount came from your document bill\.md, line 3; you did not mention it\./);
  assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), 'Reject', 'rejecting has the focus');
  assert.equal(await account.locator('mark').isVisible(), false);
  await account.getByText('Show passage').click();
  assert.equal(await account.locator('mark').innerText(), ACCOUNT);
  await account.getByText('by Friday.').waitFor();
  await everyForm(page, 'flow-card');
  await account.getByRole('button', { name: 'Open document' }).click();
  await panel(page).getByText('by Friday.').first().waitFor();
  await dock.getByLabel('Trust your document bill.md for this conversation').check();
  await dock.getByRole('button', { name: 'Approve', exact: true }).click();
  const paid = page.locator('.answer .message').getByText(`Sent 250 to ${ACCOUNT}.`);
  await paid.waitFor();
  await rest(page);
  await ask(page, 'Pay them again');
  await paid.nth(1).waitFor();
  await rest(page);
  await showPanel(page, 'Work');
  await accessible(page, 'trusted sources');
  await page.getByRole('button', { name: 'Stop trusting your document bill.md' }).click();
  await page.getByText('No longer trusted: your document bill.md.').waitFor();
  await ask(page, 'And once more');
  await why.waitFor();
  await dock.getByRole('button', { name: 'Reject' }).click();
  await dock.getByRole('button', { name: 'Reject' }).click();
  await rest(page);
  assert.equal(await paid.count(), 2);
});
