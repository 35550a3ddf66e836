// While the page is hidden an agent pauses, then ends: title, icon and notifications say so, without contents.
import { ask, assert, eventually, open, says, story, url } from './kit.mjs';

await story(
  async ({ page, context }) => {
    await context.grantPermissions(['notifications'], { origin: url });
    await open(page);
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
    await ask(page, 'Write down a secret');
    await hide(page, true);
    await eventually(async () => assert.equal(await icon(page), '/icon-news.svg'));
    assert.match(await page.title(), /^\(1\) /);
    assert.deepEqual(await shown(page), [], 'nothing is shown until the person allows it');
    await hide(page, false);
    await eventually(async () => assert.equal(await icon(page), '/icon.svg'));

    await turnOn(page);
    await page.getByRole('button', { name: 'Approve' }).click();
    await hide(page, true);
    await eventually(async () => assert.deepEqual(await shown(page), ['An answer is ready: ']));
    await hide(page, false);
    await says(page, 'The secret is written.');
  },
);

/** A browser without a screen never hides a page. */
function hide(page, isHidden) {
  return page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
}

function icon(page) {
  return page.locator('link[rel="icon"]').getAttribute('href');
}

function shown(page) {
  return page.evaluate(async () => {
    const worker = await navigator.serviceWorker.ready;
    return (await worker.getNotifications()).map(({ title, body }) => `${title}: ${body}`);
  });
}

async function turnOn(page) {
  const here = page.url();
  await page.goto(`${url}/settings`);
  await page.getByRole('switch', { name: 'Notify me' }).click();
  await page.goto(here);
  await page.getByRole('button', { name: 'Approve' }).waitFor();
}
