// An address that is nobody's: a clear page, and a message typed there begins a conversation of its own.
import { accessible, assert, DESKTOP, PHONE, rest, says, shoot, story, url } from './kit.mjs';

const STRANGE = '00000000-0000-7000-8000-00000000beef';

await story(
  async ({ page }) => {
    const started = [];
    page.on('request', (request) => {
      const body = request.postData() ?? '';
      if (body.includes('run.start') || (request.url().endsWith('/threads') && request.method() === 'POST')) started.push(request.url() + body);
    });
    await page.goto(`${url}/nonsense`);
    await page.getByRole('heading', { name: 'Page not found', level: 2 }).waitFor();
    await accessible(page, 'page not found');
    await page.getByRole('button', { name: 'Start a new conversation' }).click();
    await page.getByRole('heading', { name: 'What would you like to think through?' }).waitFor();
    await page.goto(`${url}/c/${STRANGE}`);
    await page.getByRole('heading', { name: 'Conversation not found' }).waitFor();
    await accessible(page, 'conversation not found');
    for (const [form, size] of [['phone', PHONE], ['desktop', DESKTOP]]) {
      await page.setViewportSize(size);
      await shoot(page, `not-found-${form}`);
    }
    await page.locator('#composer').fill('Private words');
    await page.locator('#composer').press('Enter');
    await says(page, 'Here I am.');
    await rest(page);
    const id = new URL(page.url()).pathname.split('/').at(-1);
    assert.notEqual(id, STRANGE);
    assert.equal(started.length, 2);
    assert.ok(started.every((request) => request.includes(id) && !request.includes(STRANGE)), started.join('\n'));
    assert.equal((await fetch(`${url}/threads/${STRANGE}/state`)).status, 404);
  },
  { allows: /status of 404/ },
);
