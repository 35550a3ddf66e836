// The agent proposes a change in two parts; the person takes one, and the agent reads what was refused and why.
import { accessible, ask, assert, open, rest, says, showRecord, story } from './kit.mjs';
import { backupOf, importBackup, kept, openDocuments, panel, patient } from './documents.mjs';

const text = 'The reef is old.\n\nIt holds.\n\nFish are many.\n';

await story(async ({ page, context }) => {
  patient(context);
  await open(page);
  await openDocuments(page);
  await accessible(page, 'no documents');
  await importBackup(page, backupOf([{ id: 'doc-reef', title: 'reef.md', text }]));
  await accessible(page, 'documents');
  await ask(page, 'Make my text about the reef livelier', { agent: 'Tutor' });
  const card = page.getByRole('region', { name: 'Agent requests' });
  await card.getByText('Change to reef.md').waitFor();
  await accessible(page, 'a proposal');
  const [first, second] = [card.getByRole('region', { name: 'Change 1 of 2' }), card.getByRole('region', { name: 'Change 2 of 2' })];
  await first.getByRole('button', { name: 'Accept' }).click();
  await second.getByRole('button', { name: 'Reject' }).click();
  await second.getByRole('textbox').fill('I have not counted the fish.');
  await accessible(page, 'a proposal, decided');
  await card.getByRole('button', { name: 'Apply 1 of 2 changes' }).click();
  await says(page, 'I kept your fish.');
  await rest(page);
  const { documents, versions } = await kept(page);
  assert.equal(versions.find(({ number }) => number === 2).text, 'The reef is ancient.\n\nIt holds.\n\nFish are many.\n');
  assert.equal(documents[0].number, 2);
  // The conversation keeps what was decided, over a reload too.
  const decision = page.locator('.decision', { hasText: 'You accepted part of a change to reef.md' });
  await decision.getByText('(+1 −1)').waitFor();
  await page.reload();
  await decision.getByRole('button', { name: 'Undo the change to reef.md' }).waitFor();
  await accessible(page, 'a decision');
  await decision.getByRole('button', { name: 'Show reef.md' }).click();
  // The change is a version of the document, with who made it and why; the one before is there too.
  await panel(page).getByText('The reef is ancient.').waitFor();
  await accessible(page, 'editor');
  await panel(page).getByRole('button', { name: 'Versions' }).click();
  await panel(page).getByText('Agent: Livelier words.').click();
  await panel(page).locator('del', { hasText: 'old' }).waitFor();
  await panel(page).locator('ins', { hasText: 'ancient' }).waitFor();
  await accessible(page, 'versions');
  await showRecord(page);
  await panel(page).locator('summary', { hasText: 'reef.md' }).first().waitFor();
  await panel(page).locator('summary').first().click();
  await accessible(page, 'disclosures');
  await decision.getByRole('button', { name: 'Undo the change to reef.md' }).click();
  await decision.getByText('Undone').waitFor();
  const undone = await kept(page);
  assert.equal(undone.versions.find(({ number }) => number === undone.documents[0].number).text, text);
});
