// A conversation of 2,000 messages opens at once, is streamed into without a long task, and fits into little memory.
import { ask, assert, eventually, longestTask, noteWhen, notedAt, open, post, says, showCalls, story, TRACED, url } from './kit.mjs';

const MESSAGES = 2_000;
const LAST = `Question ${MESSAGES - 1}?`;
const ANSWER = `The **reef** holds at this depth; see \`depth\` in the log.

- nothing but snow
- one light, far below

It is ${'quiet and cold down here, '.repeat(6)}as before.`;

await story(async ({ page, context, browser }) => {
  await open(page);
  const thread = await talked(MESSAGES);
  const fresh = await context.newPage();
  await page.close();

  const path = `${url}/c/${thread}`;
  await noteWhen(fresh, (words) => document.querySelector('main')?.textContent.includes(words) ?? false, LAST);
  await fresh.goto(path);
  await says(fresh, LAST);
  const opened = await notedAt(fresh);
  assert.equal(await fresh.locator('main .area').evaluate((area) => area.scrollHeight - area.scrollTop - area.clientHeight < 5), true);
  const memory = await heap(context, fresh);
  await goesBack(fresh);
  await finds(fresh, path);
  await fresh.goto(path);
  await says(fresh, LAST);
  // What the pages before it left behind is collected now, not while it streams.
  await heap(context, fresh);

  await browser.startTracing(fresh, { categories: TRACED });
  await ask(fresh, 'And now?');
  await eventually(async () => assert.equal(await fresh.getByRole('heading', { name: 'Part 279' }).count(), 1), 60);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  await showCalls(fresh);
  return { opened_ms: Math.round(opened), heap_mb: memory, heap_after_mb: await heap(context, fresh), ...longestTask(traceEvents) };
});

/** Earlier messages are drawn on the way to them, and what is looked at stays where it is. */
async function goesBack(page) {
  const first = page.locator('.human').first();
  const words = await first.innerText();
  await first.evaluate((message) => message.scrollIntoView());
  await eventually(async () => assert.notEqual(await first.innerText(), words));
  const seen = page.locator('.human', { hasText: words });
  await eventually(async () => {
    const { y } = await seen.boundingBox();
    assert.ok(y > 0 && y < 300, `what was looked at is at ${y}`);
  });
}

/** An address names a message far above. */
async function finds(page, path) {
  await page.goto(`${path}#m1500`);
  await page.reload();
  await eventually(async () => assert.ok(await page.getByText('Question 1501?').isVisible()));
}

/** A thread that so much was said in: half of it by the person. */
async function talked(count) {
  const { thread_id: id } = await post('/threads', { graph_id: 'long', metadata: { graph_id: 'long', agent: 'long', title: 'A long dive' } });
  const messages = Array.from({ length: count }, (_, n) =>
    n % 2 ? { type: 'ai', id: `m${n}`, content: `${ANSWER} Answer ${n}.` } : { type: 'human', id: `m${n}`, content: `Question ${n + 1}?` },
  );
  await post(`/threads/${id}/state`, { values: { messages }, as_node: 'model' });
  return id;
}

/** What the page's scripts hold, in MB. */
async function heap(context, page) {
  const cdp = await context.newCDPSession(page);
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize, embedderHeapUsedSize } = await cdp.send('Runtime.getHeapUsage');
  return Math.round((usedSize + (embedderHeapUsedSize ?? 0)) / 1e6);
}
