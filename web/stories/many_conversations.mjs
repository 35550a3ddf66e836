// 500 conversations: the list is there at once, all of it on demand, and one is found among them.
import { assert, eventually, noteWhen, notedAt, open, post, showConversations, story } from './kit.mjs';

const COUNT = 500;
const LISTED = 100;

await story(async ({ page, context }) => {
  await open(page);
  for (let n = 1; n <= COUNT; n += 50) {
    const some = Array.from({ length: 50 }, (_, k) => post('/threads', { metadata: { title: `Dive to wreck-${n + k}-x`, agent: 'long' } }));
    await Promise.all(some);
  }
  const fresh = await context.newPage();
  await page.close();

  await noteWhen(fresh, (count) => document.querySelectorAll('[data-thread-list] li').length >= count, LISTED);
  await open(fresh);
  await showConversations(fresh);
  const rows = fresh.locator('[data-thread-list] li');
  await rows.nth(LISTED - 1).waitFor();
  const opened = await notedAt(fresh);
  for (let seen = 200; seen <= COUNT; seen += 100) {
    await fresh.getByRole('button', { name: 'Show more' }).click();
    await rows.nth(seen - 1).waitFor();
  }

  await fresh.getByLabel('Search conversations').fill('wreck-7-x');
  await eventually(async () => assert.deepEqual(await rows.allInnerTexts(), ['Dive to wreck-7-x']));
  await fresh.keyboard.press('ArrowDown');
  await fresh.keyboard.press('Enter');
  await fresh.waitForURL(/\/c\//);
  return { opened_ms: Math.round(opened) };
});
