// An answer that this tab did not ask for is refused: a wrong state, a wrong nonce, a link from elsewhere.
import { assert, story, url } from './kit.mjs';
import { control, leave, onward, signInAs, stored, title } from './issuer_kit.mjs';

const refused = async (page, words) => {
  await title(page).waitFor();
  await page.getByRole('alert').getByText(words).waitFor();
  assert.doesNotMatch(await stored(page), /bathysphere\.refresh/);
  assert.equal(new URL(page.url()).search, '');
};

await story(
  async ({ page }) => {
    await control({ expires_in: 600, accepted_seconds: 600 });
    // A link that somebody sent: there is no sign-in that it belongs to, and their words are not shown.
    await page.goto(`${url}/signed-in?code=theirs&state=theirs&error_description=Call+this+number`);
    await refused(page, 'was not started in this tab');
    assert.equal(await page.getByText('Call this number').count(), 0);

    // The person is on their way; somebody else's answer comes first.
    await onward(page).waitFor();
    await leave(page);
    const before = (await control()).exchanged;
    await page.goto(`${url}/signed-in?code=theirs&state=theirs`);
    await refused(page, 'was not valid');
    assert.equal((await control()).exchanged, before);

    // The ID token is of another sign-in.
    await control({ nonce: 'of another sign-in' });
    await onward(page).waitFor();
    await signInAs(page, 'eve');
    await refused(page, 'was not valid');

    // The right one still works.
    await control({ nonce: null });
    await signInAs(page, 'ada');
    await page.getByText('Signed in as ada of acme').waitFor();
  },
  { allows: /401/ },
);
