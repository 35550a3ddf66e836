// A change is edited before it is approved; the next one, a new file, is rejected with a reason.
import { accessible, ask, assert, rest, says, showPanel, signIn, story, told, url } from './kit.mjs';

const { keys, path, fresh } = told;

await story(
  async ({ page }) => {
    const dock = page.getByRole('region', { name: 'Agent requests' });
    await page.goto(url);
    await signIn(page, keys.bob);
    await page.locator('#composer').waitFor();
    await ask(page, 'Change the plan', { agent: 'Team files' });
    await dock.waitFor({ timeout: 60_000 }); // the first run of a server builds the agent
    await dock.getByText(`Edit ${path}`).waitFor();
    await dock.getByRole('button', { name: 'Edit', exact: true }).click();
    await dock.getByRole('textbox', { name: 'New text' }).fill('with care');
    await accessible(page, 'editing a change');
    await dock.getByRole('button', { name: 'Approve with edits' }).click();
    await dock.getByText(`New file ${fresh}`).waitFor();
    await dock.locator('ins').getByText('Not wanted.').waitFor();
    await dock.getByRole('button', { name: 'Reject' }).click();
    await dock.getByRole('textbox').fill('One plan is enough.');
    await dock.getByRole('button', { name: 'Reject' }).click();
    await says(page, 'The specialist is back.');
    await rest(page);
    await showPanel(page, 'Team files');
    await page.locator('.decision', { hasText: `You approved a change to ${path.slice(1)} with your edits` }).waitFor();
    await page.locator('.decision', { hasText: `You rejected a change to ${fresh.slice(1)}` }).waitFor();
    await page.getByRole('tabpanel').getByRole('button', { name: path.slice(1) }).click();
    await page.getByRole('article', { name: path }).getByText('Dive with care.').waitFor();
    assert.equal(await page.getByRole('tabpanel').getByRole('button', { name: fresh.slice(1) }).count(), 0);
  },
  { allows: /401/ },
);
