// 200 kB with fifty tool calls: no frame takes longer than 100 ms of work, and the page can be scrolled.
import { ask, assert, eventually, open, rest, says, showCalls, story } from './kit.mjs';

await story(async ({ page, browser }) => {
  await open(page);
  await browser.startTracing(page, { categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel'] });
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
  return { ...longestOf(traceEvents), characters: length };
});

/** The longest piece of the page's own work on its main thread: by the processor's clock, and by the wall's. */
function longestOf(events) {
  const threads = new Set(
    events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const onMain = events.filter(({ ph, pid, tid }) => ph === 'X' && threads.has(`${pid} ${tid}`));
  // What this story asks the page through DevTools is work that no person gives it.
  const asked = onMain.filter(({ args }) => args.chrome_mojo_event_info?.mojo_interface_tag === 'blink.mojom.DevToolsSession');
  const isAsked = ({ ts, dur, pid }) => asked.some((other) => other.pid === pid && other.ts >= ts && other.ts < ts + dur);
  // A task that the end of the trace cut off has no times.
  const tasks = onMain.filter((event) => event.name === 'RunTask' && event.dur !== undefined && !isAsked(event));
  assert.ok(tasks.length > 100, `the trace has only ${tasks.length} tasks, on ${threads.size} main threads, in ${events.length} events`);
  const most = (time) => Math.round(Math.max(...tasks.map(time)) / 1000);
  // Chromium may leave out the processor's time of a task, which is never more than the wall's.
  return { longest_task_ms: most(({ tdur, dur }) => tdur ?? dur), longest_task_wall_ms: most(({ dur }) => dur), tasks: tasks.length };
}
