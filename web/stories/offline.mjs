// Once it was here, the app opens without a network, says so, and works again when it is back.
import { ask, assert, eventually, open, rest, says, story } from './kit.mjs';

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
    await context.setOffline(true);
    await page.reload();
    await page.locator('#composer').waitFor();
    await ask(page, 'Is anybody there?');
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await context.setOffline(false);
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
    await says(page, 'Here I am.');
    await rest(page);
  },
  { allows: /Failed to load resource|net::ERR/ },
);
