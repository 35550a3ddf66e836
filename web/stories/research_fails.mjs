// A model that gives nothing usable: the run ends in words, and the question can be asked again.
import { accessible, ask, assert, COLD, open, rest, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'How deep did the bathysphere go?', { agent: 'Researcher' });
  await page.getByText('The research ended without a report.').waitFor(COLD);
  await rest(page);
  await accessible(page, 'failed research');
  await page.getByRole('button', { name: 'Try again' }).click();
  assert.equal(await page.locator('#composer').inputValue(), 'How deep did the bathysphere go?');
  await page.keyboard.press('Enter');
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Start with this plan?').waitFor();
  assert.equal(await page.getByText('The research ended without a report.').count(), 0);
}, { patience: 40_000 });
