// Small things of the layout that were wrong once: alignment, widths, tabs, titles, and links that carry data.
import { accessible, ask, assert, COLD, DESKTOP, open, PHONE, rest, says, showPanel, story, url } from './kit.mjs';

const box = async (locator) => (await locator.boundingBox()) ?? assert.fail('it is not visible');

/** The titles of the cards in one row of the welcome stand at one height, also beside a card that is higher. */
async function cardsAreAligned(page) {
  await page.locator('.welcome li span').first().evaluate((text) => (text.textContent = 'word '.repeat(80)));
  const cards = await page.locator('.welcome li button').all();
  const rows = new Map();
  for (const card of cards) {
    const { y } = await box(card);
    const title = (await box(card.locator('b'))).y - y;
    rows.set(y, [...(rows.get(y) ?? []), title]);
  }
  assert.ok(Math.max(...[...rows.values()].map((titles) => titles.length)) > 1, 'a row has several cards');
  for (const titles of rows.values()) assert.ok(Math.max(...titles) - Math.min(...titles) < 1, `${titles}`);
}

/** The page of the documents keeps its width, whatever is in it. */
async function documentsKeepTheirWidth(page) {
  await page.goto(`${url}/documents`);
  const panel = page.locator('main .panel').first();
  await page.getByRole('heading', { level: 1 }).waitFor();
  const before = (await box(panel)).width;
  assert.ok(before > 600, `${before}`);
  await page.locator('summary', { hasText: 'Backup' }).click();
  assert.equal((await box(panel)).width, before);
  await accessible(page, 'documents, with the backup open');
}

/** All pages stand in one frame: one title, over a column at one place. */
async function pagesShareAFrame(page) {
  const columns = new Set();
  for (const [path, name] of [['documents', 'My documents'], ['memory', 'Memory'], ['tools', 'Tools'], ['settings', 'Settings']]) {
    await page.goto(`${url}/${path}`);
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    assert.equal(await page.locator('h1').count(), 1, path);
    assert.equal(await page.title(), `${name} · Bathysphere`);
    const { x, width } = await box(page.locator('main .column').first());
    columns.add(`${x} ${width}`);
  }
  assert.equal(columns.size, 1, [...columns].join(', '));
}

/** On a phone the page has a title, and no tab of the conversation is lit. */
async function phoneShowsThePage(page) {
  await page.setViewportSize(PHONE);
  await page.getByRole('heading', { level: 1, name: /documents/i }).waitFor();
  const tab = page.getByRole('button', { name: 'Chat', exact: true });
  assert.equal(await tab.getAttribute('aria-current'), null);
  await tab.click();
  await page.locator('#composer').waitFor();
  assert.equal(await tab.getAttribute('aria-current'), 'page');
  await page.setViewportSize(DESKTOP);
}

/** The panel has at most three tabs, all with their names, and each is inside of it. */
async function tabsFit(page) {
  await showPanel(page, 'Documents');
  const around = await box(page.getByRole('tablist'));
  const tabs = await page.getByRole('tab').all();
  assert.deepEqual(await page.getByRole('tab').allInnerTexts(), ['Work', 'Documents', 'Map']);
  for (const tab of tabs) {
    const { x, width } = await box(tab);
    assert.ok(width > 60, 'its name is seen');
    assert.ok(x >= around.x && x + width <= around.x + around.width + 1, await tab.innerText());
  }
}

/** A link that carries data is opened only on request: an opened page would fail the story. */
async function linkIsAskedAbout(page, context) {
  await page.getByRole('link', { name: 'the log' }).click();
  const dialog = page.getByRole('dialog', { name: 'Open collect.example?' });
  await dialog.getByText('everything-that-was-said').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(context.pages().length, 1);
}

/** What is typed into a title replaces it. */
async function renameReplaces(page) {
  await page.getByRole('button', { name: /^Actions/ }).first().click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('textbox', { name: 'Rename' }).waitFor();
  await page.keyboard.type('Dives');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Dives', exact: true }).first().waitFor();
}

await story(async ({ page, context }) => {
  await open(page);
  await cardsAreAligned(page);
  await ask(page, 'Show me the record.', { agent: 'Tutor' });
  await says(page, 'It is public', COLD);
  await rest(page);
  await tabsFit(page);
  await linkIsAskedAbout(page, context);
  await renameReplaces(page);
  await pagesShareAFrame(page);
  await documentsKeepTheirWidth(page);
  await phoneShowsThePage(page);
}, { viewport: DESKTOP });
