// Somebody changes the file between the question and the approval: nothing is written, the new
// difference is shown, and it says so. A reload in between changes nothing.
import { readFileSync, writeFileSync } from 'node:fs';
import { accessible, ask, assert, rest, says, signIn, story, told, url } from './kit.mjs';

const { keys, path, folder, theirs } = told;
const file = `${folder}/acme/main${path}`;

await story(
  async ({ page }) => {
    const dock = page.getByRole('region', { name: 'Agent requests' });
    await page.goto(url);
    await signIn(page, keys.bob);
    await page.locator('#composer').waitFor();
    await ask(page, 'Change the plan', { agent: 'Team files' });
    await dock.waitFor({ timeout: 60_000 }); // the first run of a server builds the agent
    await dock.locator('.changed', { hasText: 'at dawn.' }).waitFor();
    assert.equal(await dock.getByText('Somebody was here.').count(), 0);
    writeFileSync(file, theirs);
    await dock.getByRole('button', { name: 'Approve' }).click();
    const warning = dock.getByRole('alert').getByText('The file changed after you approved');
    await warning.waitFor();
    await dock.locator('.passage:not(.changed)').getByText('Somebody was here.').waitFor();
    await dock.locator('.changed', { hasText: 'at dawn.' }).waitFor();
    assert.equal(readFileSync(file, 'utf8'), theirs);
    await accessible(page, 'a stale approval');
    await page.reload();
    await warning.waitFor();
    await dock.getByRole('button', { name: 'Approve' }).click();
    await says(page, 'The specialist is back.');
    await rest(page);
  },
  { allows: /401/ },
);
