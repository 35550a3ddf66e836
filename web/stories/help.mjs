// The documentation of the server: found by search, readable in both colours, on a desk and a phone.
import { assert, DESKTOP, PHONE, shoot, story, url } from './kit.mjs';

async function search(page, words) {
  const magnifier = page.locator('label.md-header__button[for="__search"]');
  if (await magnifier.isVisible()) await magnifier.click();
  await page.locator('.md-search__input').fill(words);
  const found = page.locator('.md-search-result__item').first();
  await found.waitFor();
  return found;
}

await story(async ({ page }) => {
  await page.goto(`${url}/help`);
  assert.equal(page.url(), `${url}/help/`);
  await search(page, 'BATHYSPHERE_WEBHOOK_SECRET');
  await page.locator('.md-search-result__link[href*="reference/settings/"]').first().click();
  await page.locator('h1', { hasText: 'Settings' }).waitFor();

  for (const [form, size] of [['desktop', DESKTOP], ['phone', PHONE]]) {
    await page.setViewportSize(size);
    for (const theme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: theme });
      for (const [name, path] of [['home', ''], ['errors', 'reference/errors/'], ['api', 'reference/api/']]) {
        await page.goto(`${url}/help/${path}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        assert.equal(wide, false, `${name} scrolls sideways, ${form}`);
        await shoot(page, `site-${name}-${form}-${theme}`);
      }
    }
    await search(page, 'approvals');
  }
}, { reducedMotion: 'reduce' });
