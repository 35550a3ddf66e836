// Once it was here, the app opens without a network, says so, and works again when it is back.
import { backupOf, importBackup, openDocuments, panel } from './documents.mjs';
import { ask, assert, eventually, open, rest, says, story } from './kit.mjs';

const editor = (page) => panel(page).getByRole('textbox', { name: 'Text of Log.md' });
async function openLog(page) {
  await openDocuments(page);
  await panel(page).getByRole('button', { name: 'Log.md' }).first().click();
  await panel(page).getByRole('button', { name: 'Write' }).click();
  await editor(page).waitFor();
}

await story(
  async ({ page, context }) => {
    await open(page);
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await eventually(async () => {
      const count = await page.evaluate(async () => {
        const [name] = await caches.keys();
        return name ? (await (await caches.open(name)).keys()).length : 0;
      });
      assert.ok(count > 3, 'the build is in the cache');
    });
    await openDocuments(page);
    await importBackup(page, backupOf([{ id: 'log', title: 'Log.md', text: 'At noon.\n' }]));
    await context.setOffline(true);
    await page.reload();
    await page.locator('#composer').waitFor();
    // Documents and editor need no server.
    await openLog(page);
    await editor(page).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('Deeper.');
    await panel(page).getByText('Saved').waitFor();
    await page.reload();
    await openLog(page);
    assert.match(await editor(page).innerText(), /At noon\.\s+Deeper\./);
    await ask(page, 'Is anybody there?');
    await page.getByRole('alert').getByText('can’t be reached').waitFor();
    await context.setOffline(false);
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
    await says(page, 'Here I am.');
    await rest(page);
  },
  { allows: /Failed to load resource|net::ERR/ },
);
