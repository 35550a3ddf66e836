// A token that ends while an answer is written: the stream ends, the token is renewed, the rest arrives.
import { ask, assert, eventually, rest, says, story, url } from './kit.mjs';
import { control, onward, signInAs } from './issuer_kit.mjs';

await story(
  async ({ page, context }) => {
    // The server refuses the token after 6 seconds; the browser has been told 10 minutes.
    const start = await control({ accepted_seconds: 6, expires_in: 600 });
    await page.goto(url);
    await onward(page).waitFor();
    await signInAs(page, 'ada');
    await page.getByText('Signed in as ada of acme').waitFor();
    const refusals = [];
    page.on('response', (response) => {
      if (response.status() === 401) refusals.push(new URL(response.url()).pathname);
    });
    await ask(page, 'Count the lines');
    await says(page, 'line1 ');
    await page.locator('#composer').fill('and then');
    await control({ accepted_seconds: 600 });
    await says(page, 'line59', { timeout: 60_000 });
    await rest(page);
    const { refreshed = 0, reused = 0 } = await control();
    assert.ok(refusals.length > 0, 'the token was never refused');
    assert.equal(refreshed - (start.refreshed ?? 0), 1);
    assert.equal(await page.getByRole('heading', { name: 'Sign in' }).count(), 0);
    assert.equal(await page.locator('#composer').inputValue(), 'and then');

    // Three tabs with one sign-in, and tokens that are short: renewed before they end, one at a time.
    await control({ expires_in: 4, accepted_seconds: 600 });
    await page.reload();
    await page.getByText('Signed in as ada of acme').waitFor();
    const others = [await context.newPage(), await context.newPage()];
    for (const other of others) {
      await other.goto(url);
      await other.getByText('Signed in as ada of acme').waitFor();
    }
    const before = (await control()).refreshed;
    await eventually(async () => assert.ok((await control()).refreshed >= before + 3), 30);
    assert.equal((await control()).reused ?? 0, reused);
    for (const tab of [page, ...others]) assert.equal(await tab.getByRole('heading', { name: 'Sign in' }).count(), 0);
  },
  // The server cuts the stream whose token has ended.
  { allows: /401|ERR_INCOMPLETE_CHUNKED_ENCODING/ },
);
