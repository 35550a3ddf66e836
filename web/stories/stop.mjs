// Stop keeps what was written; a failing model is a sentence with a way on, and the words are not lost.
import { answers, ask, assert, eventually, open, rest, says, story } from './kit.mjs';

await story(
  async ({ page }) => {
    await open(page);
    await ask(page, 'Count for me');
    await says(page, 'Word 3 ');
    await page.keyboard.press('Escape');
    await rest(page);
    await page.getByText('Stopped', { exact: true }).waitFor();
    const kept = await answers(page).last().innerText();
    assert.match(kept, /Word 3 /);
    assert.doesNotMatch(kept, /Word 60/);
    await ask(page, 'Try this');
    const alert = page.getByRole('alert');
    await alert.getByText('Something went wrong.').waitFor();
    await alert.getByRole('button', { name: 'Try again' }).click();
    await says(page, 'Now it works.');
    await rest(page);
    assert.equal(await alert.count(), 0);
    // An unavailable server: the words stay in the box.
    await page.route('**/commands', (route) => route.abort());
    await ask(page, 'Are you there?');
    await page.getByRole('alert').getByText('can’t be reached').waitFor();
    await eventually(async () => assert.equal(await page.locator('#composer').inputValue(), 'Are you there?'));
  },
  { allows: /net::ERR_FAILED/ },
);
