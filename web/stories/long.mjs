// 200 kB with fifty tool calls: no frame takes longer than 100 ms of work, and the page can be scrolled.
import { ask, assert, eventually, longestTask, open, rest, says, showCalls, story, TRACED } from './kit.mjs';

await story(async ({ page, browser }) => {
  await open(page);
  await browser.startTracing(page, { categories: TRACED });
  await ask(page, 'Look fifty times, then tell me everything', { agent: 'Long' });
  await says(page, 'Part 20');
  // In the middle of it the person scrolls up; the page follows them, not the text.
  await page.locator('main .area').hover();
  await page.mouse.wheel(0, -4000);
  await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
  const before = await page.locator('main .area').evaluate((area) => area.scrollTop);
  await says(page, 'Part 60');
  const after = await page.locator('main .area').evaluate((area) => area.scrollTop);
  assert.ok(Math.abs(after - before) < 5, `the text pulled the page: ${before} → ${after}`);
  await page.getByRole('button', { name: 'Jump to latest' }).click();
  await eventually(async () => assert.equal(await page.getByRole('heading', { name: 'Part 279' }).count(), 1), 60);
  await rest(page);
  const length = await page.locator('.answer').last().evaluate((answer) => answer.textContent.length);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  await showCalls(page);
  await eventually(async () => assert.equal(await page.locator('.answer .call').count(), 50));
  return { ...longestTask(traceEvents), characters: length };
});
