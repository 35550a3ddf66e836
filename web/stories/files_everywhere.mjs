// Documents, editor, search and what left the device: light and dark, desk and phone, without a violation.
import { accessible, ask, assert, eventually, inEachForm, open, rest, says, shoot, showPanel, showRecord, story } from './kit.mjs';
import { backupOf, importBackup, openDocuments, panel, patient } from './documents.mjs';

const essay = `# On money

**Money is trust**, written down. See [the log](https://example.org).

1. A banknote is worth something because strangers will take it tomorrow.
2. In 1971 the dollar stopped being exchangeable for gold.

> It is only paper until somebody believes in it.
`;
const texts = [
  { id: 'doc-essay', title: 'On money.md', text: essay },
  { id: 'doc-note', title: 'Questions.md', text: 'Who was the first to take a note?\n', kind: 'note' },
  { id: 'doc-source', title: 'The harbour.txt', text: 'The harbour was built in 1871, when ships brought coal.\n', kind: 'source' },
];

await story(async ({ page, context }) => {
  patient(context);
  await open(page);
  await openDocuments(page);
  await importBackup(page, backupOf(texts));
  await ask(page, 'What do my documents say?', { agent: 'Tutor' });
  await says(page, 'They speak of trust.');
  await rest(page);
  await inEachForm(page, async (form, theme) => {
    const look = async (name) => {
      await accessible(page, `${name}, ${theme}, ${form}`);
      await shoot(page, `${name}-${form}-${theme}`);
    };
    await showPanel(page, 'Documents');
    await panel(page).getByRole('button', { name: 'On money.md' }).first().waitFor();
    await look('documents');
    await panel(page).getByRole('searchbox').fill('why strangers accept paper');
    await eventually(async () => assert.match(await panel(page).getByRole('listitem').first().innerText(), /On money/), 60);
    await panel(page).getByText('Loading search by meaning').waitFor({ state: 'detached', timeout: 60_000 });
    await look('search');
    await panel(page).getByRole('listitem').first().getByRole('button').click();
    await panel(page).getByRole('button', { name: 'Both' }).click();
    await panel(page).getByRole('heading', { name: 'On money', exact: true }).waitFor();
    await panel(page).getByRole('textbox', { name: 'Text of On money.md' }).waitFor();
    await look('editor');
    await panel(page).getByRole('button', { name: 'Versions' }).click();
    await look('versions');
    await panel(page).getByRole('button', { name: 'Close On money.md' }).click();
    await showRecord(page);
    await panel(page).locator('summary').first().click();
    await look('disclosed');
    await panel(page).getByRole('button', { name: 'All documents' }).click();
  });
});
