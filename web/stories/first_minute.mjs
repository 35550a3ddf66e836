// The first minute: a sample question is researched, a quote opens its source, the proof is verified.
// `make animation` records it: the story that a test tells is the one that the README shows.
import { join } from 'node:path';
import { assert, chooseAgent, COLD, open, rest, story } from './kit.mjs';
import { frame, press, type } from './frames.mjs';

const folder = process.argv[2];
const STEPS = ['Ask a question', 'Approve the plan', 'Sources are read, and every quote is checked', 'Open a quote in its source', 'Export the proof', 'Anyone can verify it, offline'];

await story(async ({ page, context }) => {
  await open(page);
  await chooseAgent(page, 'Researcher');
  await frame(page, STEPS[0], 900);
  await type(page, page.locator('#composer'), 'How deep did the bathysphere go?', STEPS[0]);
  await frame(page, STEPS[0], 700);
  await page.keyboard.press('Enter');
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Start with this plan?').waitFor(COLD);
  await frame(page, STEPS[1], 2200);
  await press(page, dock.getByRole('button', { name: 'Run plan' }), STEPS[1]);
  await dock.getByText('Start with this plan?').waitFor({ state: 'hidden' });
  await frame(page, STEPS[2], 700);

  const answer = page.locator('.report .answer');
  const quote = answer.getByRole('button', { name: 'Show in source 1:' }).nth(1);
  await quote.waitFor(COLD);
  await rest(page);
  await page.getByText('step done', { exact: false }).first().scrollIntoViewIfNeeded();
  await frame(page, STEPS[2], 2600);
  await press(page, quote, STEPS[3]);
  const mark = page.locator('mark.chosen');
  await mark.waitFor();
  assert.equal(await page.locator('.shell').evaluate((shell) => shell.scrollTop), 0, 'only the panel scrolls');
  await frame(page, STEPS[3], 2800);

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    press(page, page.getByRole('region', { name: 'Export' }).getByRole('button', { name: 'Proof (.zip)', exact: true }), STEPS[4]),
  ]);
  const proof = join(folder, 'proof.zip');
  await file.saveAs(proof);
  const [verifier] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: 'Verify a report' }).click()]);
  await verifier.waitForLoadState();
  await frame(verifier, STEPS[5], 1000);
  await verifier.locator('#file').setInputFiles(proof);
  await verifier.getByText('All checks passed.').waitFor();
  await frame(verifier, STEPS[5], 3200);
  const words = await mark.innerText();
  assert.ok(words.length > 10, words);
  return { quote: words };
}, { patience: 40_000, ...(process.env.STORY_FRAMES ? { viewport: { width: 1280, height: 760 } } : {}) });
