// The page is left in the middle of research and opened again: it goes on, and what is refused is not done.
import { accessible, ask, assert, COLD, open, rest, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'How deep did the bathysphere go?', { agent: 'Researcher' });
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Start with this plan?').waitFor(COLD);
  await page.reload();
  await dock.getByText('Start with this plan?').waitFor();
  await dock.getByRole('button', { name: 'Run plan' }).click();
  const run = page.getByRole('region', { name: 'Research progress' });
  await run.getByText('working').first().waitFor();
  await page.reload();
  await run.getByText('working').first().waitFor();
  await run.getByText('done', { exact: true }).first().waitFor();
  await accessible(page, 'progress');
  await dock.getByText('Add these steps to the plan?').waitFor();
  await dock.getByRole('button', { name: 'Reject' }).click();
  await dock.getByRole('textbox').fill('The depth is enough.');
  await dock.getByRole('button', { name: 'Reject' }).click();
  const report = page.locator('.report');
  await report.locator('.answer').getByText('The bathysphere went down to 923 metres in 1934.').waitFor();
  await rest(page);
  await page.getByText('2 steps done').click();
  await page.getByText('by you: The depth is enough.').waitFor();
  assert.equal(await report.count(), 1, 'one report');
  await page.reload();
  await report.locator('.answer').getByText('The bathysphere went down to 923 metres in 1934.').waitFor();
  assert.equal(await page.getByText('Not supported').count(), 0);
}, { patience: 40_000 });
