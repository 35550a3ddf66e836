// After a report: a question that the sources answer, an extension of the plan, and earlier reports.
import { readFileSync } from 'node:fs';
import { accessible, ask, assert, COLD, open, PHONE, rest, showPanel, story } from './kit.mjs';

const folder = process.argv[2];
const CLAIM = 'The bathysphere went down to 923 metres in 1934.';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'How deep did the bathysphere go?', { agent: 'Researcher' });
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Start with this plan?').waitFor(COLD);
  await dock.getByRole('button', { name: 'Run plan' }).click();
  await page.locator('.report .answer').getByText(CLAIM).waitFor();
  await rest(page);

  // Answered from what was read: no plan, and a quote that opens its source.
  await ask(page, 'Who heard about it on deck?');
  await page.getByText('Gloria Hollister was on deck.', { exact: true }).waitFor();
  await rest(page);
  assert.equal(await dock.getByRole('button', { name: 'Run plan' }).count(), 0);
  await page.getByText('Answered from the sources already read (they say it)').last().waitFor();
  const quote = page.getByRole('button', { name: 'described what he saw to Gloria Hollister' });
  await quote.click();
  await page.getByRole('mark').getByText('Gloria Hollister').waitFor();
  await accessible(page, 'answer');
  if (folder) await page.screenshot({ path: `${folder}/answer-desktop.png` });

  // The report before it can still be opened and exported.
  await showPanel(page, 'Sources');
  const entry = page.getByRole('listitem').filter({ hasText: '1. How deep did the bathysphere go?' });
  await entry.getByRole('button', { name: 'Open' }).click();
  await entry.getByText(CLAIM).first().waitFor();
  await accessible(page, 'reports');
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    entry.getByRole('button', { name: 'Proof' }).click(),
  ]);
  if (folder) {
    await file.saveAs(`${folder}/earlier.zip`);
    assert.ok(readFileSync(`${folder}/earlier.zip`).length > 500);
    await page.screenshot({ path: `${folder}/reports-desktop.png` });
  }

  // An extension waits for approval; only its new step is marked.
  await ask(page, 'Extend the research to its makers.');
  await dock.getByText('Extend the research with these steps?').waitFor();
  await dock.getByText('An extension of the research').waitFor();
  const fresh = dock.getByRole('listitem').filter({ hasText: 'new' });
  assert.equal(await fresh.count(), 1);
  await fresh.getByText('who designed the bathysphere').waitFor();
  await accessible(page, 'extension');
  if (folder) await page.screenshot({ path: `${folder}/extension-desktop.png` });
  await page.setViewportSize(PHONE);
  if (folder) await page.screenshot({ path: `${folder}/extension-phone.png` });
}, { patience: 40_000 });
