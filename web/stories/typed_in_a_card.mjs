// The key ends while a person gives a reason in a request: they sign in again, and the reason is there.
import { execFileSync } from 'node:child_process';
import { ask, assert, rest, says, signIn, story, told, url } from './kit.mjs';

const { keys, revoked, revoke } = told;

await story(
  async ({ page }) => {
    const dock = page.getByRole('region', { name: 'Agent requests' });
    const reason = dock.getByRole('textbox');
    await page.goto(url);
    await signIn(page, revoked);
    await page.locator('#composer').waitFor();
    await ask(page, 'Write it down', { agent: 'Team files' });
    await dock.waitFor({ timeout: 60_000 }); // the first run of a server builds the agent
    await dock.getByRole('button', { name: 'Reject' }).click();
    await reason.fill('It is said elsewhere already.');
    execFileSync(revoke[0], revoke.slice(1));
    await dock.getByRole('button', { name: 'Reject' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page, keys.bob);
    await reason.waitFor();
    assert.equal(await reason.inputValue(), 'It is said elsewhere already.');
    await dock.getByRole('button', { name: 'Reject' }).click();
    await says(page, 'The specialist is back.');
    await rest(page);
  },
  { allows: /401/ },
);
