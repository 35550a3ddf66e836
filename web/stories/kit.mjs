// What all stories share: a page of their own, eyes that see everything that leaves it, and patience.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const url = process.env.STORY_URL;
/** A folder for pictures of what the stories see, where they are wanted. */
const pictures = process.env.STORY_PICTURES;
/** What the test has told the story. */
export const told = JSON.parse(process.env.STORY_TOLD ?? '{}');
/** Where the wallet may go besides, in stories that are paid for. */
export const mint = process.env.STORY_MINT;
/** Where people sign in, in stories about that. */
export const issuer = process.env.STORY_ISSUER;
export const DESKTOP = { width: 1360, height: 860 };
export const PHONE = { width: 390, height: 844 };
/** What the story is told on, such as `phone-dark`; `make stories` tells each on all four. */
const [DEVICE, COLOURS] = (process.env.STORY_FORM ?? 'desk-light').split('-');
export const isOnPhone = DEVICE === 'phone';
const FORM = { viewport: isOnPhone ? PHONE : DESKTOP, hasTouch: isOnPhone, colorScheme: COLOURS };

/** Less than the test waits, so that a story that hangs still shows its page. */
const SECONDS = Number(process.env.STORY_SECONDS ?? 300);

/** How a story exits that waited in vain on a page without errors: its test tells it once more. */
const WAITED_IN_VAIN = 75;
const waits = new WeakSet();
const isWait = (error) => error.name === 'TimeoutError' || waits.has(error);

async function within(seconds, work) {
  let timer;
  const late = new Promise((_, reject) => {
    const error = new Error(`the story was not finished after ${seconds} seconds`);
    waits.add(error);
    timer = setTimeout(() => reject(error), seconds * 1000);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Tell one story. Whatever leaves the origin, and every error of the page, fails it. */
export async function story(tell, options = {}) {
  const browser = await chromium.connect(process.env.STORY_BROWSER);
  const context = await browser.newContext({ ...FORM, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(options.patience ?? 15_000);
  const wrong = [];
  context.on('request', (request) => {
    const address = new URL(request.url());
    const known = [url, mint, issuer].filter(Boolean).map((place) => new URL(place).origin);
    if (!known.includes(address.origin) && !['blob:', 'data:'].includes(address.protocol)) {
      wrong.push(`a request left the origin: ${request.url()}`);
    }
  });
  context.on('weberror', (error) => wrong.push(`the page failed: ${error.error().stack}`));
  context.on('console', (message) => {
    if (message.type() === 'error' && !options.allows?.test(message.text())) wrong.push(`console: ${message.text()}`);
  });
  try {
    const page = await context.newPage();
    const figures = await within(SECONDS, tell({ page, context, browser }));
    assert.deepEqual(wrong, []);
    console.log(JSON.stringify(figures ?? {}));
  } catch (error) {
    console.error(error); // first: logs are cut at their end
    console.error(wrong.join('\n'));
    for (const page of context.pages()) console.error(`what ${page.url()} showed:\n${await page.locator('body').innerText()}\n`);
    process.exitCode = isWait(error) && wrong.length === 0 ? WAITED_IN_VAIN : 1;
  } finally {
    await context.close();
    await browser.close();
  }
}

/** Show the key that a server asks for. */
export async function signIn(page, key) {
  await page.getByLabel('Access key').fill(key);
  await page.keyboard.press('Enter');
}

/** Take a picture of a page, where pictures are wanted. */
export async function shoot(page, name) {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` });
}

/** Take pictures of a view in every form, where they are wanted. */
export async function shootEveryForm(page, name) {
  if (pictures) await inEachForm(page, (form, theme) => shoot(page, `${name}-${form}-${theme}`));
}

/** Look at a view in every form, or in the one that the story is told in: no violation, and a picture where it is wanted. */
export async function everyForm(page, name, prepare = {}) {
  await inEachForm(page, async (form, theme) => {
    await prepare[form]?.();
    await accessible(page, `${name}, ${theme}, ${form}`);
    await shoot(page, `${name}-${form}-${theme}`);
  });
  await prepare[isOnPhone ? 'phone' : 'desktop']?.();
}

/** Do something in each form, and go back to the story's own. */
export async function inEachForm(page, look) {
  const sizes = Object.entries({ phone: PHONE, desktop: DESKTOP }).filter(([, size]) => !process.env.STORY_FORM || size === FORM.viewport);
  for (const theme of process.env.STORY_FORM ? [FORM.colorScheme] : ['light', 'dark']) {
    await colours(page, theme);
    for (const [form, size] of sizes) {
      await page.setViewportSize(size);
      await look(form, theme);
    }
  }
  await colours(page, FORM.colorScheme);
  await page.setViewportSize(FORM.viewport);
}

export async function open(page, path = '/') {
  await page.goto(url + path);
  await page.locator('#composer, .request').first().waitFor(); // an open request takes the composer's place
}

export async function chooseAgent(page, agent) {
  await showChat(page);
  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.getByRole('button', { name: agent, exact: false }).last().click();
}

export async function ask(page, words, { agent } = {}) {
  await showChat(page);
  if (agent) await chooseAgent(page, agent);
  await page.locator('#composer').fill(words);
  await page.keyboard.press('Enter');
}

/** On a phone the conversations, the chat and the panels take turns. */
const turnTo = (name) => async (page) => {
  if (page.viewportSize().width === PHONE.width) await page.getByRole('navigation', { name: 'Menu' }).getByRole('button', { name }).click();
};
export const showConversations = turnTo('Conversations');
export const showChat = turnTo('Chat');
/** The list of conversations: beside the chat, or the whole page of a phone. */
export const conversations = (page) => page.getByRole(isOnPhone ? 'main' : 'navigation', { name: 'Conversations' });

/** Bring a panel to the front, where it is closed too. */
export async function showPanel(page, name) {
  const tabs = page.getByRole('tablist', { name: 'Agent activity' });
  if (!(await tabs.isVisible())) await page.getByRole('button', { name: /^(Show panels|More)/ }).click();
  await page.getByRole('tab', { name }).click();
}

/** The record of what agents received, by the line under the composer. */
export async function showRecord(page) {
  await showChat(page);
  await page.getByRole('button', { name: /passages? shared/ }).click();
}

/** Each step of the runs, folded under Work. */
export async function showSteps(page) {
  await showPanel(page, 'Work');
  const steps = page.getByRole('tabpanel').locator('details', { has: page.getByRole('heading', { name: 'Steps', exact: true }) });
  if (!(await steps.evaluate((details) => details.open))) await steps.locator('summary').first().click();
}

/** Open each line that says what an agent did: the rows of its calls are behind it. */
export async function showCalls(page) {
  for (const fold of await page.locator('.answer .fold:not([open])').all()) await fold.locator('summary').first().click();
}

/** A server that has just begun loads an agent with its first question; a busy machine takes its time. */
export const COLD = { timeout: 120_000 };

/** The answers of the agent, as text. */
export const answers = (page) => page.locator('.answer .message');

export async function says(page, words, patience = {}) {
  await page.locator('main').getByText(words, { exact: false }).last().waitFor(patience);
}

/** Remember how long the text of an element was, each time it grew. */
export function watchGrowth(page, selector) {
  return page.evaluate((place) => {
    window.lengths = [];
    new MutationObserver(() => {
      const length = document.querySelector(place)?.textContent.length ?? 0;
      if (length && length !== window.lengths.at(-1)) window.lengths.push(length);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  }, selector);
}

export const growth = (page) => page.evaluate(() => window.lengths);

/** Wait until the run is over. */
export async function rest(page) {
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
}

/** Look until it is so; the last reason is the error. */
export async function eventually(look, seconds = 15) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (Date.now() > end) {
        waits.add(error);
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Switch the colour scheme as an operating system does, and wait until they are drawn. */
export async function colours(page, theme) {
  await page.emulateMedia({ colorScheme: theme });
  await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
  await page.evaluate(() => {
    const drawn = new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const late = new Promise((done) => setTimeout(done, 1000)); // a browser under load can stop drawing frames
    return Promise.race([drawn, late]).then(() => {});
  });
}

/** No violation of any rule of axe. In the dark only the colours are others than by day. */
export async function accessible(page, where) {
  await page.evaluate(axeSource);
  // In the middle of a transition a colour is neither the old one nor the new one.
  await page.evaluate(() => {
    const ends = document.getAnimations().filter((one) => one.effect?.getTiming().iterations !== Infinity);
    const late = new Promise((done) => setTimeout(done, 2000)); // a paused animation never finishes
    return Promise.race([Promise.allSettled(ends.map((one) => one.finished)), late]).then(() => {});
  });
  // Under load a native control is drawn in its new colours a moment after the page: a violation is one that stays.
  await eventually(async () => assert.deepEqual(await violationsOn(page, where), []), 2);
}

async function violationsOn(page, where) {
  const { violations } = await page.evaluate(() => {
    const isDark = document.documentElement.dataset.theme === 'dark';
    return window.axe.run(isDark ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {});
  });
  return violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.map((node) => node.html).join(' | ')}`);
}

export { assert };

/** Let each document of the page note when something is first so: by its own clock, without the time that asking takes. */
export async function noteWhen(page, isSo, argument) {
  const watch = (holds, value) => {
    window.notedAt = new Promise((done) => {
      const look = () => (holds(value) ? done(performance.now()) : requestAnimationFrame(look));
      requestAnimationFrame(look);
    });
  };
  await page.addInitScript(`(${watch})(${isSo}, ${JSON.stringify(argument)})`);
}

/** When that was, in milliseconds since the page was asked for. */
export const notedAt = (page) => page.evaluate(() => window.notedAt);

/** What `longestTask` reads. */
export const TRACED = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel'];

/** The longest piece of the page's own work on its main thread: by the processor's clock, and by the wall's. */
export function longestTask(events) {
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

/** Ask the server for something that no person would type. */
export async function post(path, body) {
  const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
