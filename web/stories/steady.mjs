// Quick switches, refused edits and refused answers: one stream, nothing doubled, nothing typed is lost.
import { ask, assert, eventually, open, rest, says, showConversations, story } from './kit.mjs';

/** Counts the streams that are open in the page, from their request to their end. */
function countStreams() {
  window.streams = { now: 0, most: 0 };
  const plain = window.fetch;
  window.fetch = (input, init) => {
    if (String(input).includes('/stream/events')) {
      window.streams.now += 1;
      window.streams.most = Math.max(window.streams.most, window.streams.now);
      init.signal.addEventListener('abort', () => (window.streams.now -= 1), { once: true });
    }
    return plain(input, init);
  };
}

const methodOf = (request) => JSON.parse(request.postData() ?? '{}').method;
const refusal = (status, message) => ({ status, contentType: 'application/json', body: JSON.stringify({ error: 'refused', message }) });

async function refuse(page, method, status, count = () => {}) {
  const refuseIt = (route) => {
    if (methodOf(route.request()) !== method) return route.fallback();
    count();
    return route.fulfill(refusal(status, 'Not now.'));
  };
  await page.route('**/commands', refuseIt);
  return () => page.unroute('**/commands', refuseIt);
}

async function startAnother(page) {
  await showConversations(page);
  await page.getByRole('button', { name: 'New conversation' }).click();
}

async function goTo(page, title) {
  await showConversations(page);
  await page.locator('.list a', { hasText: title }).click();
}

async function switchQuickly(page) {
  await page.evaluate(async () => {
    const frame = () => new Promise((resolve) => setTimeout(resolve));
    for (let time = 0; time < 50; time += 1) {
      document.querySelector('nav.tabs button')?.click(); // on a phone the list is seen instead of the chat
      await frame();
      const [one, other] = [...document.querySelectorAll('.list a')].filter((link) => /trench|wave/.test(link.textContent));
      (time % 2 ? one : other).click();
      await new Promise((resolve) => setTimeout(resolve, time % 10 ? 0 : 30));
    }
  });
}

async function editRefused(page) {
  const editor = page.getByRole('textbox', { name: 'Edit your message' });
  const allow = await refuse(page, 'run.start', 429);
  await page.getByRole('button', { name: 'Edit' }).click();
  for (let time = 1; time <= 20; time += 1) {
    await editor.fill(`What is the deepest trench? (${time})`);
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByRole('alert').getByText('Not now.').waitFor();
    await eventually(async () => assert.equal(await editor.inputValue(), `What is the deepest trench? (${time})`));
    assert.equal(await page.locator('.answer').getByText('The Mariana trench.').count(), 1);
  }
  await allow();
  await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
  await says(page, 'It is the Challenger Deep.');
  await rest(page);
  const text = await page.locator('main .area').innerText();
  assert.equal(text.split('It is the Challenger Deep.').length, 2, text);
  assert.equal(text.split('What is the deepest trench? (20)').length, 2, text);
}

/** The agent reads documents here, and the server takes no answer for ten seconds. */
async function answersRefused(page) {
  const times = [];
  const allow = await refuse(page, 'input.respond', 503, () => times.push(Date.now()));
  await ask(page, 'Look at my documents', { agent: 'Tutor' });
  await page.getByText('not accepting answers').waitFor();
  await page.locator('#composer').fill('Half a thought');
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  await allow();
  await says(page, 'You have none yet.');
  await rest(page);
  assert.equal(await page.locator('#composer').inputValue(), 'Half a thought');
  const gaps = times.slice(1).map((at, index) => at - times[index]);
  assert.ok(gaps.length > 1 && gaps.every((gap) => gap > 950), `gaps: ${gaps}`);
  return times.length;
}

await story(
  async ({ page, context }) => {
    await context.addInitScript(countStreams);
    await open(page);
    await ask(page, 'What is the tallest wave?');
    await says(page, 'Thirty metres.');
    await rest(page);
    await startAnother(page);
    await ask(page, 'What is the deepest trench?');
    await says(page, 'The Mariana trench.');
    await rest(page);
    await page.locator('#composer').fill('A draft of the second');
    await switchQuickly(page);
    await goTo(page, 'tallest wave');
    await says(page, 'Thirty metres.');
    assert.equal(await page.locator('#composer').inputValue(), '');
    await goTo(page, 'deepest trench');
    await says(page, 'The Mariana trench.');
    assert.equal(await page.locator('#composer').inputValue(), 'A draft of the second');
    await page.locator('#composer').fill('');
    await editRefused(page);
    await startAnother(page);
    const answers = await answersRefused(page);
    const streams = await page.evaluate(() => window.streams);
    assert.deepEqual(streams, { now: 1, most: 1 });
    return { switches: 50, edits: 20, answers_in_10_s: answers, streams: streams.most };
  },
  { allows: /status of (429|503)/ },
);
