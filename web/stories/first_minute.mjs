// The first minute: a sample question is researched, a quote opens its source, the proof is verified.
import { join } from 'node:path';
import { ask, assert, COLD, open, story } from './kit.mjs';

const folder = process.argv[2];

await story(async ({ page, context }) => {
  await open(page);
  await ask(page, 'How deep did the bathysphere go?', { agent: 'Researcher' });
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Start with this plan?').waitFor(COLD);
  await dock.getByRole('button', { name: 'Run plan' }).click();

  const report = page.locator('.report');
  await report.locator('.answer').getByRole('button', { name: 'Show in source 1:' }).first().click(COLD);
  await page.locator('mark.chosen').waitFor();
  const quote = await page.locator('mark.chosen').innerText();

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('region', { name: 'Export' }).getByRole('button', { name: 'Proof (.zip)', exact: true }).click(),
  ]);
  const proof = join(folder, 'proof.zip');
  await file.saveAs(proof);
  const [verifier] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: 'Verify a report' }).click()]);
  await verifier.waitForLoadState();
  await verifier.locator('#file').setInputFiles(proof);
  await verifier.getByText('All checks passed.').waitFor();
  assert.ok(quote.length > 10, quote);
  return { quote };
}, { patience: 40_000 });
