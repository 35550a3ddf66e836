// A DOCX file becomes a source; one that unpacks to more than a browser can hold is refused at once.
import { readFileSync } from 'node:fs';
import { assert, open, story } from './kit.mjs';
import { kept, openDocuments, panel, patient } from './documents.mjs';

const [, , real, bomb] = process.argv;

await story(async ({ page, context }) => {
  patient(context);
  await open(page);
  await openDocuments(page);
  const input = panel(page).locator('input[type=file]').first();
  await input.setInputFiles({ name: 'bomb.docx', mimeType: '', buffer: readFileSync(bomb) });
  await panel(page).getByText('bomb.docx unpacks to more than 100 MB').waitFor({ timeout: 5000 });
  await input.setInputFiles({ name: 'Letter.docx', mimeType: '', buffer: readFileSync(real) });
  await panel(page).getByText('Letter.docx').first().waitFor();
  const [source] = (await kept(page)).documents;
  assert.deepEqual([source.kind, source.title], ['source', 'Letter.docx']);
});
