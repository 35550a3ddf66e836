// A server that asks for a key: the page asks for it, keeps it for the tab, and a wrong one says so.
import { accessible, assert, story, url } from './kit.mjs';

await story(
  async ({ page, context }) => {
    await context.route('**/*', async (route) => {
      const request = route.request();
      const isPage = request.method() === 'GET' && !/\/(models|workspaces)$/.test(request.url());
      if (isPage || request.headers()['x-api-key'] === 'right') return route.continue();
      const body = JSON.stringify({ error: 'unauthenticated', message: 'show a key', hint: null });
      return route.fulfill({ status: 401, contentType: 'application/json', body });
    });
    await page.goto(url);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await accessible(page, 'sign in');
    await page.getByLabel('Access key').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('show a key').waitFor();
    await page.getByLabel('Access key').fill('right');
    await page.keyboard.press('Enter');
    await page.locator('#composer').waitFor();
    await page.reload();
    await page.locator('#composer').waitFor();
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('right')), false);
  },
  { allows: /401/, serviceWorkers: 'block' },
);
