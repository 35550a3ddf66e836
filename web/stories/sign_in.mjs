// A server with keys: a wrong key says so, a right one is kept where it is said, and can be forgotten;
// a key that is revoked while one writes brings the view back, and nothing that was typed is lost.
import { execFileSync } from 'node:child_process';
import { accessible, ask, assert, everyForm, rest, says, signIn, story, told, url } from './kit.mjs';

const { keys, revoked, revoke } = told;
const stored = (page) =>
  page.evaluate(() => ({ tab: sessionStorage.getItem('bathysphere.key'), device: localStorage.getItem('bathysphere.key') }));
const title = (page) => page.getByRole('heading', { name: 'Sign in' });

await story(
  async ({ page, context }) => {
    await page.goto(url);
    await title(page).waitFor();
    await everyForm(page, 'sign-in');
    await signIn(page, 'two words');
    await page.getByRole('alert').getByText('without spaces').waitFor();
    await signIn(page, 'bsk_000000000000_wrong');
    await page.getByRole('alert').getByText('Unknown API key').waitFor();
    await accessible(page, 'sign in with a problem');
    assert.deepEqual(await stored(page), { tab: null, device: null });

    // For the tab: a reload keeps it, another tab does not have it.
    await signIn(page, revoked);
    await page.locator('#composer').waitFor();
    await page.getByText('Signed in as ada of acme').waitFor();
    assert.deepEqual(await stored(page), { tab: revoked, device: null });
    await page.reload();
    await page.getByText('Signed in as ada of acme').waitFor();
    const other = await context.newPage();
    await other.goto(url);
    await title(other).waitFor();
    await other.close();

    // Every request carries it, the stream of events too: an answer arrives by it.
    await ask(page, 'What is this?');
    await says(page, 'A squid.');
    await rest(page);

    // Revoked while the person writes; what was typed is there when they are back.
    await page.locator('#composer').fill('Are you sure that it is');
    execFileSync(revoke[0], revoke.slice(1));
    await page.keyboard.press('Enter');
    await title(page).waitFor();
    await page.getByRole('alert').getByText('revoked').waitFor();
    await page.getByText('What you wrote has been kept.').waitFor();
    assert.equal(await page.locator('#composer').isVisible(), false);
    assert.deepEqual(await stored(page), { tab: null, device: null });
    await accessible(page, 'sign in again');
    await page.getByLabel('Remember on this device').check();
    await page.getByText('until you sign out').waitFor();
    await signIn(page, keys.ada);
    await page.locator('.answer').getByText('A squid.').waitFor();
    assert.equal(await page.locator('#composer').inputValue(), 'Are you sure that it is');
    await page.locator('#composer').press('Enter');
    await says(page, 'It is a squid.');
    await rest(page);
    assert.deepEqual(await stored(page), { tab: null, device: keys.ada });

    // Kept on the device: another tab is in. Signing out there forgets it everywhere.
    const second = await context.newPage();
    await second.goto(url);
    await second.getByText('Signed in as ada of acme').waitFor();
    await second.getByRole('button', { name: 'Sign out' }).click();
    await title(second).waitFor();
    await title(page).waitFor();
    assert.deepEqual(await stored(page), { tab: null, device: null });

    // Somebody else at the same browser finds nothing of the one before.
    await signIn(page, keys.eve);
    await page.getByText('Signed in as eve of zenith').waitFor();
    await page.getByText('No conversations yet').waitFor();
    assert.equal(await page.getByText('squid').count(), 0);
  },
  { allows: /401/ },
);
