// Signing in at an issuer: there and back to the same place, with what was typed; in all tabs, and out of all.
import { accessible, ask, assert, eventually, everyForm, rest, says, showChat, showConversations, story, url } from './kit.mjs';
import { control, onward, signInAs, stored, title } from './issuer_kit.mjs';

/** How the server knows the person who comes in. */
async function identified(page) {
  const isIt = (response) => response.url() === `${url}/workspaces` && response.ok();
  return (await page.waitForResponse(isIt)).json();
}

/** It says so over the conversations. */
async function isSignedIn(page, user) {
  await showConversations(page);
  await page.getByText(`Signed in as ${user} of acme`).waitFor();
}

await story(
  async ({ page, context }) => {
    const { ended: endedBefore = 0, revoked: revokedBefore = 0 } = await control();
    await page.goto(url);
    await onward(page).waitFor();
    await everyForm(page, 'sign-in-issuer');
    await page.getByText('Use an access key instead').click();
    await page.getByLabel('Access key').waitFor();
    await everyForm(page, 'sign-in-issuer-key');

    // Cancelled there: a sentence here.
    await signInAs(page, 'cancel');
    await page.getByRole('alert').getByText('cancelled or not allowed').waitFor();
    await accessible(page, 'sign in, cancelled');
    assert.equal(new URL(page.url()).pathname, '/');

    const ada = identified(page);
    await signInAs(page, 'ada');
    assert.deepEqual((await ada).roles, ['admin']);
    await isSignedIn(page, 'ada');
    assert.equal(page.url(), `${url}/`); // neither the code nor the state is left in the address
    assert.doesNotMatch(await stored(page), /eyJ[\w-]+\.[\w-]+\./); // no access or ID token is stored
    await ask(page, 'What is this?');
    await says(page, 'A squid.');
    await rest(page);
    const place = page.url();

    // A reload needs nobody; a new tab is in, without the issuer's page.
    await page.reload();
    await isSignedIn(page, 'ada');
    const before = await control();
    const other = await context.newPage();
    await other.goto(url);
    await isSignedIn(other, 'ada');
    assert.equal((await control()).exchanged, before.exchanged);
    await other.close();

    // The sign-in ends while the person writes: they come back to the conversation and to what they wrote.
    await showChat(page);
    await page.locator('#composer').fill('Are you sure that it is');
    await control({ refresh: {}, accepted_seconds: 600 });
    await page.evaluate(() => sessionStorage.removeItem('bathysphere.refresh'));
    await page.reload();
    await title(page).waitFor();
    await signInAs(page, 'ada');
    await page.locator('.answer').getByText('A squid.').waitFor();
    assert.equal(page.url(), place);
    assert.equal(await page.locator('#composer').inputValue(), 'Are you sure that it is');

    // Signing out ends it at the issuer, and in every tab.
    const second = await context.newPage();
    await second.goto(url);
    await isSignedIn(second, 'ada');
    await second.getByRole('button', { name: 'Sign out' }).click();
    await onward(second).waitFor();
    await onward(page).waitFor();
    const { ended, revoked } = await control();
    assert.deepEqual([ended - endedBefore, revoked - revokedBefore], [1, 1]);
    for (const tab of [page, second]) assert.doesNotMatch(await stored(tab), /bathysphere\.refresh/);

    // Somebody else at the same browser finds nothing of the one before.
    const eve = identified(page);
    await signInAs(page, 'eve');
    assert.deepEqual((await eve).roles, []);
    await isSignedIn(page, 'eve');
    await page.getByText('No conversations yet').waitFor();
    await eventually(async () => assert.equal(await page.getByText('squid').count(), 0));
  },
  { allows: /401/ },
);
