// Diagrams are drawn in a frame without an origin and shown as images; what cannot be drawn stays as code.
import { answers, ask, assert, eventually, open, rest, says, story } from './kit.mjs';
import { everyForm } from './views.mjs';

/** What the policy of the frame refuses: the handler in a hostile label, and the request of this story. */
const REFUSED = /inline event handler violates .* blob:|\/info['. ]/;

await story(async ({ page }) => {
  await page.addInitScript(() => {
    window.drawings = [];
    const make = URL.createObjectURL.bind(URL);
    URL.createObjectURL = (drawing) => window.drawings.push(drawing) && make(drawing);
  });
  await open(page);
  await ask(page, 'Draw me the dive');
  await says(page, 'That is all.');
  await rest(page);
  const answer = answers(page).last();
  await answer.locator('img').nth(2).waitFor();
  await answer.getByText('could not be drawn').nth(0).waitFor();

  // Each is an image of some size, from this page; the policy of the page has not refused anything.
  const images = await answer.locator('img').evaluateAll((all) =>
    Promise.all(all.map((image) => image.decode().then(() => [image.naturalWidth, image.src.split(':')[0], image.alt.length > 10]))),
  );
  assert.ok(images.length >= 3);
  for (const [width, scheme, isNamed] of images) assert.ok(width > 100 && scheme === 'blob' && isNamed, `${width} ${scheme}`);

  // The frame has no origin: it sees neither the storage nor the document of the page.
  const frame = page.frames().find((other) => other.url().endsWith('/diagram.html'));
  assert.equal(await frame.evaluate(() => self.origin), 'null');
  assert.ok(await frame.evaluate(() => { try { return !localStorage; } catch { return true; } }));
  assert.ok(await frame.evaluate(() => fetch('/info').then(() => false, () => true)), 'it can ask nobody');

  // What a hostile diagram says: no link, no script, and the words of its labels as words.
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await answer.locator('a, script, iframe, foreignObject').count(), 0);
  const svgs = await page.evaluate(() => Promise.all(window.drawings.map((drawing) => drawing.text())));
  assert.ok(svgs.length >= 3 && svgs.every((svg) => svg.startsWith('<svg')), `${svgs.length}`);
  for (const svg of svgs) assert.doesNotMatch(svg, /<script|javascript:|<a[\s>]|onclick=|evil.example/i);

  // The one that is no Mermaid stays as code.
  assert.match(await answer.locator('pre', { hasText: 'flowchart ?' }).innerText(), /this is no diagram/);
  const code = answer.getByRole('button', { name: 'Code', exact: true }).first();
  await code.click();
  await answer.locator('pre', { hasText: 'flowchart LR' }).first().waitFor();
  await code.click();
  await page.getByRole('button', { name: 'Regenerate' }).waitFor();
  const before = await answer.locator('img').first().getAttribute('src');
  await answer.locator('figure').first().scrollIntoViewIfNeeded();
  await everyForm(page, 'diagrams');
  await page.emulateMedia({ colorScheme: 'dark' });
  await eventually(async () => assert.notEqual(await answer.locator('img').first().getAttribute('src'), before));
}, { allows: REFUSED });
