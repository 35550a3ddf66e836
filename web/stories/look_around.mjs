// Folders in folders, a large one in pages, a long file in windows, a picture, and what is no text.
import { accessible, assert, eventually, isOnPhone, signIn, story, told, url } from './kit.mjs';

const { keys, place } = told;

await story(
  async ({ page }) => {
    await page.goto(`${url}/team-files`);
    await signIn(page, keys.bob);
    const main = page.getByRole('main');
    const file = (name) => main.getByRole('article', { name: `${place}/${name}` });
    const open = async (name) => {
      const back = main.getByRole('button', { name: 'Back to folder' }); // on a phone a file takes the folder's place
      if (await back.isVisible()) await back.click();
      await main.getByRole('button', { name, exact: false }).first().click();
    };
    await open(`Folder ${place.slice(1)}`);
    await open('Folder deep');
    await open('Folder er');
    await open('here.txt');
    await file('deep/er/here.txt').getByText('Down here.').waitFor();
    if (isOnPhone) await main.getByRole('button', { name: 'Back to folder' }).click();
    await main.getByRole('navigation').getByRole('button', { name: place.slice(1) }).click();

    // 235 entries, 200 at a time; what was shown stays shown after a refresh.
    await main.getByText('200 entries shown').waitFor();
    const entries = main.locator('.list li');
    await main.getByRole('button', { name: 'Show more', exact: true }).click();
    await eventually(async () => assert.equal(await entries.count(), 235));
    await main.getByRole('button', { name: 'Refresh' }).click();
    await eventually(async () => assert.equal(await entries.count(), 235));
    await accessible(page, 'a large folder');

    await open('log.csv');
    const log = file('log.csv');
    await log.getByText('Lines 1–500 of 1,200').waitFor();
    await log.getByRole('button', { name: 'Show more lines' }).click();
    await log.getByText('Lines 1–1,000 of 1,200').waitFor();
    await log.getByRole('button', { name: 'Show more lines' }).click();
    await eventually(async () => assert.match(await log.locator('pre').innerText(), /line 1\n[^]*line 500\nline 501\n[^]*line 1200/));
    assert.equal(await log.getByRole('button', { name: 'Show more lines' }).count(), 0);

    await open('pixel.png');
    const picture = file('pixel.png').getByRole('img');
    await eventually(async () => assert.equal(await picture.evaluate((image) => image.naturalWidth), 1));
    await accessible(page, 'a picture');
    await open('data.bin');
    await file('data.bin').getByText('not text').waitFor();
    await open('hostile.md');
    await file('hostile.md').locator('strong').getByText('bold').waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await file('hostile.md').getByRole('button', { name: 'Source' }).click();
    await file('hostile.md').locator('pre').getByText('onerror').waitFor();
  },
  { allows: /401/ },
);
