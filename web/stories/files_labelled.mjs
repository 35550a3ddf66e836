// A small set of notes and questions: the eight nearest of each, as the page shows them.
import { readFileSync } from 'node:fs';
import { assert, eventually, open, story } from './kit.mjs';
import { backupOf, importBackup, openDocuments, panel, patient } from './documents.mjs';

const { notes, queries } = JSON.parse(readFileSync(process.argv[2], 'utf8'));

await story(async ({ page, context }) => {
  patient(context);
  await open(page);
  await openDocuments(page);
  await importBackup(page, backupOf(Object.entries(notes).map(([title, text]) => ({ id: `doc-${title}`, title, text }))));
  const box = panel(page).getByRole('searchbox');
  const hits = panel(page).getByRole('list', { name: 'Search results' }).getByRole('listitem');
  const searches = () => page.evaluate(() => performance.getEntriesByName('search by meaning').length);
  await box.fill('anything at all');
  await panel(page).getByRole('button', { name: 'Meaning', exact: true }).click();
  // Everything is read once eight come back and nothing is left to read.
  await eventually(async () => assert.equal(await hits.count(), 8), 60);
  await panel(page).getByText('Indexing for search by meaning').waitFor({ state: 'detached', timeout: 60_000 });
  const tops = {};
  for (const query of queries) {
    const before = await searches();
    await box.fill(query);
    await eventually(async () => assert.ok((await searches()) > before));
    tops[query] = await eventually(async () => {
      const shown = await hits.locator('b').allInnerTexts();
      assert.equal(shown.length, 8);
      assert.equal(await page.locator('ol[data-query]').getAttribute('data-query'), query);
      return shown;
    });
  }
  return { tops };
});
