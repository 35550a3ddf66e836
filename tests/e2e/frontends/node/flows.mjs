// Drives the page of one front end in Chromium: node flows.mjs FRONT PAGES API [FLOW…]
// Prints one JSON line per flow: {front, flow, seconds, error}.
import assert from 'node:assert/strict';
import { Client } from '@langchain/langgraph-sdk';
import { chromium } from 'playwright-core';

const [front, pages, api, ...wanted] = process.argv.slice(2);
const client = new Client({ apiUrl: api });
const LONG = Array.from({ length: 120 }, (_, n) => `word${n + 1}`).join(' ');
const REJECTED = 'User rejected the tool call for `send_mail` with reason: Not now';
const PATIENCE = 60_000;

const runtimes = process.env.COPILOTKIT_RUNTIMES?.split(' ') ?? [];
const address = (runtime = runtimes[0]) => `${pages}/${front}.html?${new URLSearchParams({ api, ...(runtime && { runtime }) })}`;
const said = (words) => `You said ${words} and I say it back in a few more words.`;
const threadOf = (page) => new URL(page.url()).searchParams.get('thread');
const approval = (page) => page.getByRole('region', { name: 'Approval' });

/** The conversation as the page shows it, such as `human: hello`. */
const shown = (page) =>
  page.locator('[data-role]').evaluateAll((found) => found.map((one) => `${one.dataset.role}: ${one.textContent.trim()}`));

async function send(page, words) {
  const box = page.getByRole('textbox');
  await box.fill(words);
  await box.press('Enter');
}

/** Look until the page shows exactly this, and again a moment later: nothing may be added twice. */
async function shows(page, lines) {
  const end = Date.now() + PATIENCE;
  let last;
  do {
    last = await shown(page);
    if (last.length === lines.length && last.every((line, n) => line === lines[n])) break;
    await page.waitForTimeout(50);
  } while (Date.now() < end);
  assert.deepEqual(last, lines);
  await page.waitForTimeout(400);
  assert.deepEqual(await shown(page), lines);
}

/** Note each length that the newest answer of the agent has. */
const watch = (page) =>
  page.evaluate(() => {
    window.lengths = new Set();
    new MutationObserver(() => {
      const answer = [...document.querySelectorAll('[data-role="ai"]')].at(-1);
      window.lengths.add(answer?.textContent.length ?? 0);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
const lengths = (page) => page.evaluate(() => window.lengths.size);

async function resting(page) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await page.waitForTimeout(50)) {
    const thread = await client.threads.get(threadOf(page));
    if (thread.status !== 'busy') return thread;
  }
  throw new Error('the thread is still busy');
}

const flows = {
  async chat({ page }) {
    await page.goto(address());
    await watch(page);
    await send(page, 'hello');
    await shows(page, ['human: hello', `ai: ${said('hello')}`]);
    assert.ok((await lengths(page)) >= 4, `the text came in ${await lengths(page)} parts`);
    await send(page, 'more');
    await shows(page, ['human: hello', `ai: ${said('hello')}`, 'human: more', `ai: ${said('more')}`]);
    const { metadata } = await resting(page);
    assert.equal(metadata.graph_id, 'mailer');
    assert.match(metadata.assistant_id, /^[0-9a-f-]{36}$/);
  },

  async history({ page, another }) {
    const title = `history of ${crypto.randomUUID()}`;
    const lines = [`human: ${title}`, `ai: ${said(title)}`, 'human: more', `ai: ${said('more')}`];
    await page.goto(address());
    await send(page, title);
    await shows(page, lines.slice(0, 2));
    await send(page, 'more');
    await shows(page, lines);
    await resting(page);
    const later = await another();
    await later.goto(address(runtimes[1])); // a runtime that has seen nothing: the server has the history
    await later.getByRole('navigation').getByText(title).click();
    await shows(later, lines);
    await send(later, 'again');
    await shows(later, [...lines, 'human: again', `ai: ${said('again')}`]);
  },

  async approval({ page }) {
    await page.goto(address());
    await send(page, 'mail it');
    await approval(page).getByText('send_mail {"to":"ada@example.org"}').waitFor();
    await resting(page);
    await page.reload();
    await approval(page).getByText('send_mail {"to":"ada@example.org"}').waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await shows(page, ['human: mail it', 'ai: Result: sent to ada@example.org']);
    assert.equal(await approval(page).count(), 0);
    await send(page, 'mail again');
    await page.getByRole('button', { name: 'Reject' }).click();
    await shows(page, ['human: mail it', 'ai: Result: sent to ada@example.org', 'human: mail again', `ai: Result: ${REJECTED}`]);
    assert.equal(await approval(page).count(), 0);
    await resting(page);
    const { values } = await client.threads.getState(threadOf(page));
    const results = values.messages.filter(({ type }) => type === 'tool').map(({ content }) => content);
    assert.deepEqual(results, ['sent to ada@example.org', REJECTED]);
  },

  async reload({ page }) {
    await page.goto(address());
    await send(page, 'long');
    await page.locator('[data-role="ai"]', { hasText: 'word20 ' }).waitFor();
    assert.equal((await client.threads.get(threadOf(page))).status, 'busy');
    await page.reload();
    await watch(page);
    await shows(page, ['human: long', `ai: ${LONG}`]);
    assert.ok((await lengths(page)) >= 4, `the rest came in ${await lengths(page)} parts`);
    await resting(page);
    await page.reload();
    await shows(page, ['human: long', `ai: ${LONG}`]);
  },
};

/** A page of its own; what leaves the machine, and every error of the page, fails the flow. */
async function play(browser, flow) {
  const wrong = [];
  const contexts = [];
  const another = async () => {
    const context = await browser.newContext();
    contexts.push(context);
    context.setDefaultTimeout(PATIENCE);
    context.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (hostname !== '127.0.0.1' && protocol !== 'data:' && protocol !== 'blob:') wrong.push(`a request left: ${request.url()}`);
    });
    context.on('weberror', (error) => wrong.push(`the page failed: ${error.error().stack}`));
    context.on('console', (message) => {
      if (message.type() === 'error') wrong.push(`console: ${message.text()} ${message.location().url}`);
    });
    return context.newPage();
  };
  try {
    await flows[flow]({ page: await another(), another });
    assert.deepEqual(wrong, []);
    return null;
  } catch (error) {
    const bodies = contexts.flatMap((context) => context.pages()).map((page) => page.locator('body').innerText().catch(String));
    return [error.stack, ...wrong, ...(await Promise.all(bodies))].join('\n');
  } finally {
    await Promise.all(contexts.map((context) => context.close()));
  }
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
});
// Side by side: most of their time is waiting.
await Promise.all((wanted.length ? wanted : Object.keys(flows)).map(async (flow) => {
  const begun = Date.now();
  const error = await play(browser, flow);
  console.log(JSON.stringify({ front, flow, seconds: (Date.now() - begun) / 1000, error }));
}));
await browser.close();
