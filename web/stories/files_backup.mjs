// Everything is exported, deleted and imported: documents, versions and what left the device are back.
import { buffer } from 'node:stream/consumers';
import { accessible, ask, assert, eventually, open, rest, says, showRecord, story } from './kit.mjs';
import { backupOf, importBackup, kept, openDocuments, panel, patient } from './documents.mjs';

const text = 'The reef is old.\n';

await story(async ({ page, context }) => {
  patient(context);
  await open(page);
  await openDocuments(page);
  await importBackup(page, backupOf([{ id: 'doc-reef', title: 'reef.md', text }]));
  await ask(page, 'What does my text say?', { agent: 'Tutor' });
  await says(page, 'It says that the reef is old.');
  await rest(page);
  await panel(page).getByRole('button', { name: 'reef.md' }).first().click();
  await panel(page).getByRole('textbox', { name: 'Text of reef.md' }).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('And it grows.');
  await panel(page).getByText('Saved').waitFor();
  await eventually(async () => assert.equal((await kept(page)).versions.length, 2));
  await panel(page).getByRole('button', { name: 'All documents' }).click();
  await panel(page).getByRole('button', { name: 'New note' }).click();
  await panel(page).getByRole('textbox', { name: 'Text of Note.md' }).click();
  await page.keyboard.type('Ask about the fish 🐟');
  await panel(page).getByText('Saved').waitFor();
  await eventually(async () => assert.equal((await kept(page)).documents.find(({ kind }) => kind === 'note').characters, 20));
  await panel(page).getByRole('button', { name: 'All documents' }).click();
  const before = await kept(page);
  assert.ok(before.disclosures.length >= 1);

  const backup = panel(page).locator('summary', { hasText: 'Backup' });
  if (!(await panel(page).getByRole('button', { name: 'Export everything' }).isVisible())) await backup.click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    panel(page).getByRole('button', { name: 'Export everything' }).click(),
  ]);
  const saved = await buffer(await file.createReadStream());
  await panel(page).getByRole('button', { name: 'Delete all data' }).click();
  await accessible(page, 'delete everything');
  await panel(page).getByRole('button', { name: 'Delete everything', exact: true }).click();
  await panel(page).getByText('No documents yet.').waitFor();
  for (const [name, rows] of Object.entries(await kept(page))) assert.deepEqual(rows, [], name);

  // A damaged file changes nothing; the good one brings everything back.
  const damaged = Buffer.from(saved.toString().replace('And it grows.', 'And it shrinks.'));
  await page.getByLabel('Import a backup').setInputFiles({ name: 'bad.json', mimeType: 'application/json', buffer: damaged });
  await panel(page).getByText('the backup is damaged').waitFor();
  assert.deepEqual((await kept(page)).documents, []);
  await importBackup(page, { name: 'backup.json', mimeType: 'application/json', buffer: saved });
  const after = await kept(page);
  for (const name of ['projects', 'documents', 'versions', 'disclosures', 'talks']) assert.deepEqual(after[name], before[name], name);
  await panel(page).getByRole('button', { name: 'reef.md' }).first().click();
  await panel(page).getByText('And it grows.').waitFor();
  await showRecord(page);
  await panel(page).locator('summary', { hasText: 'reef.md' }).first().waitFor();
});
