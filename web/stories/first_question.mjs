// From one box to a streamed answer, and it is safe Markdown.
import { accessible, answers, ask, assert, eventually, growth, open, rest, says, showConversations, story, watchGrowth } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await accessible(page, 'welcome');
  await watchGrowth(page, '.answer .message');
  await ask(page, 'How deep did Beebe go?');
  await says(page, 'Bermuda');
  await rest(page);
  const lengths = await growth(page);
  assert.ok(lengths.length >= 4, `the answer came in pieces: ${lengths}`);
  const html = await answers(page).last().innerHTML();
  assert.match(html, /<strong>923 m<\/strong>/);
  assert.equal(await page.locator('.answer :is(img, script, [onerror])').count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('.answer table td').first().innerText(), '1934');
  await eventually(async () => assert.match(await page.title(), /How deep did Beebe go/));
  await accessible(page, 'answer');
  await showConversations(page);
  await page.getByRole('link', { name: 'How deep did Beebe go?' }).first().waitFor();
});
