// A PDF is dropped; a sentence is found by what it means, with no word in common, and opened where it stands.
import { readFileSync } from 'node:fs';
import { accessible, assert, eventually, open, story } from './kit.mjs';
import { dropFile, openDocuments, panel, patient, selectedText } from './documents.mjs';

const sentence = 'Many creatures of the abyss glow by a chemical reaction in the skin.';

await story(async ({ page, context }) => {
  patient(context);
  await open(page);
  await openDocuments(page);
  await dropFile(page, 'The harbour.pdf', 'application/pdf', readFileSync(process.argv[2]));
  await panel(page).getByRole('button', { name: 'The harbour.pdf 3 pages' }).waitFor();
  const box = panel(page).getByRole('searchbox');
  await box.fill('railway');
  const hits = panel(page).getByRole('list', { name: 'Search results' }).getByRole('listitem');
  await hits.filter({ hasText: 'railway' }).waitFor(); // by words, whether or not the model is there
  await box.fill('luminous animals living at great depths');
  await panel(page).getByRole('button', { name: 'Words', exact: true }).click();
  await panel(page).getByText('No results').waitFor();
  await panel(page).getByRole('button', { name: 'Meaning', exact: true }).click();
  await eventually(async () => assert.match(await hits.first().innerText(), /glow by a chemical/), 60);
  await panel(page).getByText('Loading search by meaning').waitFor({ state: 'detached' });
  await hits.first().getByText('The harbour.pdf, pp. 1–2').waitFor();
  await accessible(page, 'search');
  await hits.first().getByRole('button').click();
  await eventually(async () => assert.ok((await selectedText(page)).replace(/\s+/g, ' ').includes(sentence)));
  // Its pages begin where they do in the file, and are not part of what is read.
  await panel(page).getByText('Imported, read only · 3 pages').waitFor();
  const begins = panel(page).getByRole('separator', { name: 'Page 2' }).locator('xpath=following-sibling::*[1]');
  assert.match(await begins.innerText(), /^Many creatures of the abyss/);
  assert.ok(!(await selectedText(page)).includes('Page 2'));
  // It is read, not written.
  const views = panel(page).getByRole('group', { name: 'View' }).getByRole('button');
  assert.deepEqual(await views.allInnerTexts(), ['Read', 'Versions']);
  assert.equal(await views.first().getAttribute('aria-pressed'), 'true');
  await accessible(page, 'a source, at its span');
  const [took] = await page.evaluate(() => performance.getEntriesByName('search by meaning').slice(-1).map(({ duration }) => duration));
  return { search_ms: Math.round(took) };
});
