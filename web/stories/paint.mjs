// Every page as it opens, on a desk and on a phone: when the largest part is drawn, and how much jumps meanwhile.
import { answers, ask, DESKTOP, open, PHONE, rest, says, story, url } from './kit.mjs';

const PAGES = ['/', '/documents', '/memory', '/tools', '/settings', '/no/such/page'];
/** What loads late has been drawn by then. Streams stay open, so that the network never rests. */
const SETTLED_MS = 2_000;
/** Until then the browser is busy with making the page, on a processor that the page and its server need. */
const IDLE_MS = 1_500;
/** A page that was later than this is opened twice more, and the middle of the three counts: one late frame is no page's fault. */
const LATE_MS = 1_000;

/** Runs in the page, before its own scripts. */
function observe() {
  const nameOf = (node) => (node?.nodeType === Node.ELEMENT_NODE ? `${node.tagName.toLowerCase()}.${node.className}` : node?.nodeName);
  window.paint = { largest: 0, shift: 0, moved: [] };
  const follow = (type, see) => new PerformanceObserver((list) => list.getEntries().forEach(see)).observe({ type, buffered: true });
  follow('largest-contentful-paint', ({ startTime }) => (window.paint.largest = startTime));
  follow('layout-shift', ({ value, hadRecentInput, sources }) => {
    if (hadRecentInput) return;
    window.paint.shift += value;
    for (const { node, previousRect: from, currentRect: to } of sources) {
      window.paint.moved.push(`${nameOf(node)}: ${from.y} to ${to.y}, ${from.height} to ${to.height} high`);
    }
  });
}

async function measure(browser, path, viewport, storageState) {
  const looks = [await look(browser, path, viewport, storageState)];
  while (looks.length < 3 && looks[0].largest > LATE_MS) looks.push(await look(browser, path, viewport, storageState));
  const largest = looks.map((one) => one.largest).sort((a, b) => a - b)[looks.length >> 1];
  const worst = looks.reduce((one, other) => (other.shift > one.shift ? other : one));
  return { ...worst, largest };
}

/** A person's first look: nothing is cached, nothing is known. */
async function look(browser, path, viewport, storageState) {
  const context = await browser.newContext({ viewport, hasTouch: viewport === PHONE, storageState });
  try {
    await context.addInitScript(observe);
    const page = await context.newPage();
    await page.waitForTimeout(IDLE_MS);
    await page.goto(url + path);
    await page.locator('main').waitFor();
    await page.waitForTimeout(SETTLED_MS);
    return await page.evaluate(() => window.paint);
  } finally {
    await context.close();
  }
}

await story(
  async ({ page, context, browser }) => {
    await open(page);
    await ask(page, 'Teach me about pressure');
    await says(page, 'That is all.');
    await rest(page);
    await answers(page).last().locator('.formula').first().waitFor();
    const conversation = new URL(page.url()).pathname;
    const storageState = await context.storageState();
    await page.goto('about:blank');

    const measured = [];
    for (const [device, viewport] of Object.entries({ desk: DESKTOP, phone: PHONE })) {
      for (const path of [...PAGES, conversation]) {
        const { largest, shift, moved } = await measure(browser, path, viewport, storageState);
        const where = `${device} ${path === conversation ? '/c' : path}`;
        measured.push({ where, largest_ms: Math.round(largest), shift: Number(shift.toFixed(4)), moved });
      }
    }
    return {
      largest_ms: Math.max(...measured.map((one) => one.largest_ms)),
      layout_shift: Math.max(...measured.map((one) => one.shift)),
      measured,
    };
  },
  { allows: /status of 404/ },
);
