// A message is edited, an answer made again; each version of the talk is kept and can be shown.
import { ask, assert, eventually, open, rest, says, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'Name a fish');
  await says(page, 'A tench.');
  await rest(page);
  await page.getByRole('article').filter({ hasText: 'Name a fish' }).hover();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('Name a bird');
  await page.getByRole('button', { name: 'Send again' }).click();
  await says(page, 'A wren.');
  await rest(page);
  assert.equal(await page.getByText('A tench.').count(), 0);
  await page.getByText('2/2').waitFor();
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await says(page, 'A robin.');
  await rest(page);
  await page.getByText('3/3').waitFor();
  await page.getByRole('button', { name: 'Previous version' }).click();
  await says(page, 'A wren.');
  await page.getByRole('button', { name: 'Previous version' }).click();
  await says(page, 'A tench.');
  // The talk goes on from the version that is shown.
  await ask(page, 'And another?');
  await says(page, 'A pike.');
  await rest(page);
  await eventually(async () => {
    const said = await page.locator('.bubble').allInnerTexts();
    assert.deepEqual(said, ['Name a fish', 'And another?']);
  });
  await page.reload();
  await says(page, 'A pike.');
  await page.getByText('1/3').waitFor();
});
