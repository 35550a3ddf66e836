// A conversation gets a title, is found by what was said in it, pinned, put into a project, exported, shared and revoked.
import { text } from 'node:stream/consumers';
import { accessible, ask, assert, COLD, conversations, DESKTOP, eventually, everyForm, open, PHONE, rest, says, shoot, showChat, showConversations, story, url } from './kit.mjs';

const LOOKS = { timeout: 45_000 };

await story(
  async ({ page, browser }) => {
    const list = conversations(page);
    const row = (title) => list.getByRole('listitem').filter({ hasText: title });
    const menu = async (title) => {
      await row(title).hover();
      await row(title).getByRole('button', { name: `Actions for ${title}` }).click();
    };
    const pick = (name) => page.getByRole('button', { name, exact: true }).last().click();

    // The server names it after the first answer; the first words stand until then.
    await open(page);
    await ask(page, 'How deep do whales dive, and for how long do they stay there?');
    await says(page, '2,250 m', COLD);
    await rest(page);
    await showConversations(page);
    await row('Dives of the Sperm Whale').waitFor(LOOKS);
    await showChat(page);
    await page.getByRole('heading', { level: 1, name: 'Dives of the Sperm Whale' }).waitFor();
    const whales = new URL(page.url()).pathname;

    await showConversations(page);
    await page.getByRole('link', { name: 'Bathysphere' }).click();
    await ask(page, 'Tell me of the sea');
    await says(page, 'Paragraph 59');
    await rest(page);
    await showConversations(page);
    await row('Ways of the Sea').waitFor(LOOKS);

    // Words of the answer find it, and it opens at the message; arrow keys lead there.
    const search = page.getByRole('searchbox', { name: 'Search conversations' });
    await search.fill('SPERM dive');
    const hit = list.getByRole('link', { name: /^Dives of the Sperm Whale: Agent/ });
    await hit.waitFor();
    assert.deepEqual(await hit.locator('mark').allInnerTexts(), ['sperm', 'dives']);
    await everyForm(page, 'search-in-messages', { phone: () => showConversations(page) });
    await search.focus();
    for (let n = 0; n < 9 && !(await hit.evaluate((link) => link === document.activeElement)); n += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(url + whales);
    const found = page.locator('.answer .message').filter({ hasText: '2,250 m' });
    await eventually(async () => assert.ok(await found.evaluate((place) => place === document.activeElement)));
    await showConversations(page);
    await search.fill('paragraph 2');
    await list.getByRole('link', { name: /^Ways of the Sea: Agent/ }).waitFor();
    await search.fill('zebra');
    await list.getByText('No matching conversations').waitFor();
    await search.fill('');

    // Pinned, and in a project.
    await menu('Ways of the Sea');
    await accessible(page, 'the menu of a conversation');
    await pick('Pin');
    await list.getByRole('heading', { name: 'Pinned' }).waitFor();
    await menu('Dives of the Sperm Whale');
    await pick('Move to project');
    await page.getByRole('textbox', { name: 'New project' }).fill('Marine biology');
    await page.keyboard.press('Enter');
    await list.getByRole('heading', { name: 'Marine biology' }).waitFor();
    await page.reload();
    await showConversations(page);
    await list.getByRole('heading', { name: 'Marine biology' }).waitFor();
    await everyForm(page, 'conversations', { phone: () => showConversations(page) });

    // Renamed, it keeps the person's title.
    await menu('Ways of the Sea');
    await pick('Rename');
    await page.getByRole('textbox', { name: 'Rename' }).fill('My sea');
    await page.keyboard.press('Enter');
    await row('My sea').waitFor();
    await showChat(page);

    // Exported, from the conversation's own menu.
    const own = page.getByRole('button', { name: 'Conversation menu' });
    const download = async (name) => {
      await own.click();
      await pick('Export');
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: new RegExp(`^${name}`) }).click()]);
      return [file.suggestedFilename(), await text(await file.createReadStream())];
    };
    const [name, markdown] = await download('Markdown');
    assert.equal(name, 'Dives-of-the-Sperm-Whale.md');
    assert.match(markdown, /^# Dives of the Sperm Whale\n\n\*Assistant, \d{4}-\d\d-\d\d\*\n\n## You\n\nHow deep do whales/);
    assert.match(markdown, /\*\*sperm whale\*\*/);
    const [, json] = await download('JSON');
    assert.deepEqual(JSON.parse(json).messages.map(({ role }) => role), ['person', 'agent']);
    await own.click();
    await pick('Export');
    await accessible(page, 'the export menu');
    await shoot(page, 'export-menu');
    await page.keyboard.press('Escape');
    await page.emulateMedia({ media: 'print' });
    assert.equal(await list.isVisible(), false);
    assert.equal(await page.locator('#composer').isVisible(), false);
    assert.ok(await found.isVisible());
    await shoot(page, 'print');
    await page.emulateMedia({ media: 'screen' });

    // Shared: whoever has the link reads a copy, without a script, until it is revoked.
    await own.click();
    await pick('Share');
    await page.getByRole('button', { name: 'Create link' }).click();
    const link = page.getByRole('link', { name: 'Open link' });
    await link.waitFor();
    await accessible(page, 'the links of a conversation');
    await shoot(page, 'share');
    const address = url + (await link.getAttribute('href'));
    const stranger = await browser.newContext({ viewport: DESKTOP, javaScriptEnabled: true });
    const reader = await stranger.newPage();
    const requests = [];
    reader.on('request', (request) => requests.push(request.url()));
    await reader.goto(address);
    await reader.getByRole('heading', { level: 1, name: 'Dives of the Sperm Whale' }).waitFor();
    await reader.getByText('2,250 m').waitFor();
    assert.equal(await reader.locator('script').count(), 0);
    assert.deepEqual(requests.filter((one) => !one.endsWith('/favicon.ico')), [address]);
    const copy = await stranger.newPage(); // the page itself runs no script, and so not axe's
    await copy.setContent(await (await fetch(address)).text());
    for (const [form, size] of [['desktop', DESKTOP], ['phone', PHONE]]) {
      await reader.setViewportSize(size);
      assert.ok(await reader.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await copy.setViewportSize(size);
      for (const colorScheme of ['light', 'dark']) {
        await copy.emulateMedia({ colorScheme });
        await accessible(copy, `a shared page, ${form}, ${colorScheme}`);
      }
      await shoot(reader, `shared-page-${form}`);
    }
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Link revoked').waitFor();
    assert.equal((await reader.goto(address)).status(), 404);
    await reader.getByRole('heading', { name: 'This conversation is not shared' }).waitFor();
    await stranger.close();
  },
  { permissions: ['clipboard-read', 'clipboard-write'], patience: 30_000 },
);
