// A person reads the workspace in German and goes back: the choice outlives a reload, drafts outlive the switch.
import { accessible, assert, DESKTOP, eventually, open, PHONE, shoot, story, url } from './kit.mjs';

const DRAFT = 'Half a sentence about';

const fileOf = (request) => new URL(request.url()).pathname.match(/\/(language\.\w+)-[^/]+\.js$/)?.[1];

/** Nothing is wider than the window, whichever way the language is written. */
async function fits(page, where) {
  const { wide, width } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, width: innerWidth }));
  assert.ok(wide <= width, `${where}: ${wide} pixels in a window of ${width}`);
}

async function settings(page, label) {
  await page.goto(`${url}/settings`);
  return page.getByRole('combobox', { name: label, exact: true });
}

/** The page is loaded again in this language. */
async function choose(page, from, code) {
  const choice = await settings(page, from);
  await Promise.all([page.waitForEvent('load'), choice.selectOption(code)]);
  await page.waitForFunction((language) => document.documentElement.lang === (language || 'en'), code);
}

async function readGerman(page) {
  await open(page);
  assert.equal(await page.locator('#composer').inputValue(), DRAFT);
  assert.equal(await page.locator('#composer').getAttribute('placeholder'), 'Nachricht schreiben');
  await page.getByRole('heading', { name: 'Was möchtest du durchdenken?' }).waitFor();
  await accessible(page, 'the chat in German');
  await page.goto(`${url}/settings`);
  await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
  await page.getByRole('heading', { name: 'Darstellung' }).waitFor();
  await fits(page, 'the settings in German');
  await accessible(page, 'the settings in German');
  await page.goto(`${url}/documents`);
  await page.getByRole('heading', { name: 'Meine Dokumente', level: 1 }).waitFor();
  await page.getByText('Dateien hier ablegen oder auswählen').waitFor();
  await fits(page, 'the documents in German');
}

/** No language of ours is written from right to left yet; the layout is ready for one. */
async function rightToLeft(page) {
  await page.setViewportSize(DESKTOP);
  await open(page);
  await page.evaluate(() => (document.documentElement.dir = 'rtl'));
  const box = (role, name) => page.getByRole(role, { name, exact: true }).first().boundingBox();
  await eventually(async () => {
    const list = await page.locator('.sidebar').boundingBox();
    const main = await page.locator('main').boundingBox();
    assert.ok(list.x > main.x, 'the conversations are on the right');
  });
  await page.setViewportSize(PHONE);
  await fits(page, 'from right to left on a phone');
  assert.ok(await box('textbox', 'Write a message'));
}

/** Lines of one document that are written in either direction, each from its own side. */
async function bothDirections(page) {
  await page.goto(`${url}/documents`);
  const buffer = Buffer.from('# שלום עולם\n\nThe reef is \u05d9\u05e4\u05d4.\n\nהשונית היא reef.\n');
  await page.locator('main input[type="file"]').first().setInputFiles({ name: 'שונית.md', mimeType: 'text/markdown', buffer });
  await page.getByRole('button', { name: 'שונית.md' }).first().click();
  const lines = page.locator('.cm-line');
  await eventually(async () => {
    const directions = await lines.evaluateAll((all) => all.filter((line) => line.textContent).map((line) => getComputedStyle(line).direction));
    assert.deepEqual(directions, ['rtl', 'ltr', 'rtl']);
  });
}

await story(async ({ page, context }) => {
  const languages = [];
  context.on('request', (request) => fileOf(request) && languages.push(fileOf(request)));
  await open(page);
  await page.locator('#composer').fill(DRAFT);
  assert.equal(await page.evaluate(() => `${document.documentElement.lang} ${document.documentElement.dir}`), 'en ltr');
  assert.deepEqual(languages, [], 'English readers load no language');
  await choose(page, 'Language', 'de');
  for (const size of [DESKTOP, PHONE]) {
    await page.setViewportSize(size);
    await readGerman(page);
    await shoot(page, `languages-${size.width}`);
  }
  await page.reload();
  await page.getByRole('heading', { name: 'Meine Dokumente', level: 1 }).waitFor();
  await choose(page, 'Sprache', 'es');
  await page.getByRole('combobox', { name: 'Idioma', exact: true }).waitFor();
  assert.deepEqual([...new Set(languages)], ['language.de', 'language.es']);
  await choose(page, 'Idioma', '');
  await page.getByRole('combobox', { name: 'Language', exact: true }).waitFor();
  await open(page);
  assert.equal(await page.locator('#composer').inputValue(), DRAFT);
  await bothDirections(page);
  await rightToLeft(page);
});
