// A person turns memory on, an agent writes a note, the person reads, edits and deletes it.
import { accessible, ask, assert, COLD, eventually, everyForm, open, rest, says, showConversations, story } from './kit.mjs';

await story(async ({ page }) => {
  const main = page.getByRole('main');
  const note = main.getByRole('listitem').filter({ hasText: 'drinks.md' });
  const visit = async () => {
    await showConversations(page);
    await page.getByRole('link', { name: 'Settings' }).click();
    await main.getByRole('link', { name: 'Memory' }).click();
    await main.getByRole('switch', { name: 'Let agents remember' }).waitFor();
  };
  await open(page);
  await visit();
  assert.equal(await main.getByRole('switch').isChecked(), false);
  await main.getByText('No notes yet.').waitFor();
  await main.getByRole('switch').check();
  await page.reload();
  await eventually(async () => assert.equal(await main.getByRole('switch').isChecked(), true)); // the server kept it

  await open(page);
  await ask(page, 'I never drink coffee. Remember that.');
  await says(page, 'I noted it.', COLD);
  await rest(page);
  await visit();
  await note.getByText('Drinks tea.').waitFor();
  await note.getByText('Written by an agent').waitFor();
  await everyForm(page, 'memory');
  await note.getByRole('button', { name: 'Edit drinks.md' }).click();
  const field = note.getByRole('textbox', { name: 'Text of drinks.md' });
  await field.fill('x'.repeat(501));
  await note.getByText('1 character too many').waitFor();
  assert.ok(await note.getByRole('button', { name: 'Save' }).isDisabled());
  await field.fill('Drinks cocoa.');
  await accessible(page, 'editing a note');
  await note.getByRole('button', { name: 'Save' }).click();
  await note.getByText('Written by you').waitFor();

  await open(page);
  await ask(page, 'What do I drink?');
  await says(page, 'You drink cocoa.');
  await rest(page);
  await visit();
  await note.getByRole('button', { name: 'Delete drinks.md' }).click();
  await main.getByText('Deleted drinks.md').waitFor();
  assert.equal(await note.count(), 0);
  await open(page);
  await ask(page, 'And now?');
  await says(page, 'I do not know.');
  await rest(page);
  await visit();
  await main.getByRole('switch').uncheck();
  await eventually(async () => assert.equal(await main.getByRole('switch').isChecked(), false));
});
