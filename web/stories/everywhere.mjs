// Each view, light and dark, on a desk and on a phone, without a violation; and by keys alone.
import { accessible, ask, assert, colours, DESKTOP, open, PHONE, rest, says, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await page.keyboard.press('Shift+?'); // the composer has the focus: it is a question mark there
  assert.equal(await page.locator('#composer').inputValue(), '?');
  await ask(page, 'Show me the reef');
  await says(page, 'Here is the reef.');
  await rest(page);
  for (const theme of ['light', 'dark']) {
    await colours(page, theme);
    for (const [width, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
      await page.setViewportSize(size);
      const where = (name) => `${name}, ${theme}, ${width}`;
      if (width === 'phone') await page.getByRole('button', { name: 'Chat' }).click();
      await page.locator('.answer').getByText('Here is the reef.').waitFor();
      await accessible(page, where('conversation'));
      if (width === 'phone') await page.getByRole('button', { name: 'More' }).click();
      for (const tab of await page.getByRole('tab').all()) {
        await tab.click();
        await accessible(page, where(await tab.innerText()));
      }
      if (width === 'phone') {
        await page.getByRole('button', { name: 'Conversations' }).click();
        await accessible(page, where('conversations'));
      }
    }
  }
  await page.setViewportSize(DESKTOP);
  await page.reload();
  await page.locator('.answer').getByText('Here is the reef.').waitFor();
  await page.locator('#conversation').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await accessible(page, 'help');
  await page.getByRole('button', { name: 'Close' }).click();
  await page.locator('#conversation:focus').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('no such conversation');
  await page.getByText('No matching conversations').waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('reef');
  await page.getByRole('link', { name: 'Show me the reef' }).waitFor();
  await page.keyboard.press('Control+b');
  assert.equal(await page.getByRole('navigation', { name: 'Conversations' }).count(), 0);
  await page.keyboard.press('Control+b');
  await page.getByRole('button', { name: /^Model: / }).click();
  await page.getByText('Your messages stay on the machine this server runs on.').waitFor();
  await accessible(page, 'model card');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Shift+o');
  await page.getByRole('heading', { name: 'What would you like to think through?' }).waitFor();
  // A conversation is renamed and deleted.
  await page.getByRole('searchbox').fill('');
  const row = page.getByRole('listitem').filter({ hasText: 'Show me the reef' }).first();
  await row.hover();
  await row.getByRole('button').click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('textbox', { name: 'Rename' }).fill('A garden of coral');
  await page.keyboard.press('Enter');
  const renamed = page.getByRole('listitem').filter({ hasText: 'A garden of coral' });
  await renamed.hover();
  await renamed.getByRole('button').click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete permanently' }).click();
  await renamed.waitFor({ state: 'detached' });
}, { viewport: DESKTOP });
