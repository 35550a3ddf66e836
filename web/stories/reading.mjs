// An answer to read: formulas, code in colours, a table that is copied as CSV. Nothing of it was loaded before it was needed.
import { answers, ask, assert, eventually, open, rest, says, story, url } from './kit.mjs';
import { everyForm } from './views.mjs';

const LAZY = /\/assets\/(maths|katex|tables|highlight|tokens|languages|html|source-serif)-/i;

/** A face of ours is loaded, so that it is not a stand-in that is seen. */
const isLoaded = (page, family) =>
  eventually(async () => {
    const faces = await page.evaluate(() => [...document.fonts].filter(({ status }) => status === 'loaded').map((face) => face.family));
    assert.ok(faces.some((face) => face.includes(family)), `${family} among ${faces}`);
  });

/** The shipped serif for answers, sans for controls, mono for code; and nothing jumps when it arrives. */
async function isReadInTheSerif(page, answer) {
  await page.reload();
  await page.evaluate(() => {
    window.shift = 0;
    const add = (list) => list.getEntries().forEach(({ value }) => (window.shift += value));
    new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true });
  });
  await answer.locator('.formula').first().waitFor();
  await isLoaded(page, 'Source Serif 4 Variable');
  const faceOf = (place) => place.evaluate((element) => getComputedStyle(element).fontFamily.split(',')[0]);
  assert.match(await faceOf(answer.locator('p').first()), /Source Serif 4/);
  assert.match(await faceOf(answer.locator('pre code').first()), /mono/);
  assert.match(await faceOf(page.getByRole('button', { name: 'Copy as CSV' })), /sans/);
  await page.waitForTimeout(500);
  return page.evaluate(() => window.shift);
}

/** Numbers stand at the right of their columns, and a heading is closer to its text than to the one above. */
async function isLaidOut(answer) {
  const aligned = await answer.locator('td[align="right"]').evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign));
  assert.ok(aligned.length > 0 && aligned.every((side) => ['right', 'end'].includes(side)), `${aligned}`);
  const heading = await answer.getByRole('heading', { name: 'In numbers' }).boundingBox();
  const above = await answer.locator('p', { hasText: 'It costs' }).boundingBox();
  const below = await answer.locator('.table').boundingBox();
  const [before, after] = [heading.y - above.y - above.height, below.y - heading.y - heading.height];
  assert.ok(before > after, `${before} above, ${after} below`);
}

await story(async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(url).origin });
  const loaded = [];
  page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
  await open(page);
  await page.waitForLoadState('networkidle');
  assert.deepEqual(loaded.filter((path) => LAZY.test(path)), []);

  await ask(page, 'Teach me about pressure');
  await says(page, 'That is all.');
  await rest(page);
  const answer = answers(page).last();

  // Formulas are typeset with our own fonts; one that is no LaTeX stays as it was written.
  await eventually(async () => assert.equal(await answer.locator('.formula').count(), 5));
  await isLoaded(page, 'KaTeX_Main');
  assert.equal(await answer.locator('.formula.display math').count(), 2);
  assert.deepEqual(await answer.locator('code.math').allInnerTexts(), ['$\\notacommand{1}$']);
  assert.equal(await answer.locator('a, [onclick]').count(), 0);
  const heights = await answer.locator('.formula .strut').evaluateAll((struts) => struts.map((strut) => strut.offsetHeight));
  assert.ok(heights.every((height) => height > 5), `its styles are applied: ${heights}`);

  // Numbers stand under one another, and the table is copied as CSV.
  await isLaidOut(answer);
  const cells = answer.locator('td[align="right"]');
  assert.deepEqual(await cells.allInnerTexts(), ['0', '1.0', '923', '93.9']);
  await answer.getByRole('button', { name: 'Copy as CSV' }).click();
  await answer.getByRole('button', { name: 'Copied' }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, "where,depth in m,bar,note\r\nsurface,0,1.0,'=1+1\r\n\"Beebe, 1934\",923,93.9,$p$\r\n");

  // Code has colours, and its text is what was written; in a language that nobody knows it is plain.
  const blocks = answer.locator('pre code');
  await eventually(async () => assert.deepEqual(await blocks.first().locator('.tok.keyword').allInnerTexts(), ['def', 'return']));
  assert.match(await blocks.first().innerText(), /^def pressure\(depth: float\) -> float:\n/);
  assert.equal(await blocks.nth(1).locator('.tok').count(), 0);
  assert.match(await blocks.nth(1).innerText(), /<script>/);
  await everyForm(page, 'reading');
  return { layout_shift: await isReadInTheSerif(page, answer) };
});
