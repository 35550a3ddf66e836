// A map grows with the talk; the person accepts, refuses with a reason, and jumps to where things come from.
import { accessible, ask, assert, COLD, eventually, isOnPhone, open, rest, says, shoot, showChat, showPanel, story } from './kit.mjs';
import { everyForm } from './views.mjs';

const backup = process.argv[2];

await story(async ({ page }) => {
  await open(page);
  await showPanel(page, 'Documents');
  await page.getByText('Backup', { exact: false }).first().click();
  await page.getByLabel('Import a backup').setInputFiles(backup);
  await page.getByText('money.md').first().waitFor();

  // What the tutor puts forward is on the map, and waits for the person's word.
  await ask(page, 'I hold that money is trust.', { agent: 'Tutor' });
  await says(page, 'What does that trust rest on?', COLD);
  await rest(page);
  await showPanel(page, 'Map');
  const panel = page.getByRole('tabpanel');
  const showMap = () => isOnPhone && showPanel(page, 'Map'); // on a desk it is beside the chat
  // The drawing comes first; the list is behind a toggle, and the choice survives a reload.
  await panel.getByRole('region', { name: 'Argument map' }).waitFor();
  assert.equal(await panel.getByRole('tree').count(), 0);
  assert.equal(await panel.locator('svg .edge').count(), 3);
  await panel.locator('svg .node').filter({ hasText: 'Paper has no use' }).click();
  await panel.getByRole('group', { name: 'Premise', exact: true }).waitFor();
  await everyForm(page, 'tutor-talk', { panel: 'Map' });
  await showMap();
  await panel.getByRole('button', { name: 'List', exact: true }).click();
  const tree = panel.getByRole('tree');
  const line = (words) => tree.getByRole('treeitem').filter({ hasText: words });
  await line('Money is trust.').waitFor();
  assert.equal(await tree.getByRole('treeitem').count(), 4);

  // The move of the turn is a chip over the tutor's words.
  await showChat(page);
  const chip = page.getByRole('button', { name: 'Asks for the premise behind it' });
  await chip.click();
  await page.getByText('Nothing supports the claim. Chosen by the tutor.').waitFor();
  await showMap();

  // By keys: the claim is theirs, and it leads to where they said it.
  await line('Money is trust.').focus();
  await page.keyboard.press('Enter');
  const claim = panel.getByRole('group', { name: 'Claim' });
  await claim.getByRole('button', { name: 'Go to message' }).click();
  await eventually(async () => assert.equal(await focused(page), 'I hold that money is trust.'));
  await showMap();
  await claim.getByRole('button', { name: 'I hold this' }).click();
  await line('Money is trust.').getByText('you, held').waitFor();

  // One is refused, with a reason; a reload forgets nothing; the tutor is told.
  await line('Paper has no use of its own.').click();
  await panel.getByRole('group', { name: 'Premise' }).getByRole('button', { name: 'I don’t' }).click();
  await panel.getByRole('textbox').fill('Paper burns well.');
  await panel.getByRole('button', { name: 'I don’t', exact: true }).click();
  await line('Paper has no use of its own.').waitFor({ state: 'detached' });
  await panel.getByText('2 changes will be sent with your next message.').waitFor();
  await page.reload();
  await showMap();
  await panel.getByText('2 changes will be sent with your next message.').waitFor();
  await accessible(page, 'decisions');
  await panel.getByRole('button', { name: 'Send to the tutor now' }).click();
  await showChat(page);
  await says(page, 'You are right: paper burns well.');
  await rest(page);
  await showMap();
  await panel.getByText('changes will be sent with your next message').waitFor({ state: 'detached' });
  assert.equal(await tree.getByRole('treeitem').count(), 3);
  await panel.getByText('Rejected (1)').waitFor();

  // Evidence opens the document at its span.
  await line('Money outlived its gold.').click();
  await panel.getByText('money.md', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Go to document' }).click();
  await page.locator('.cm-content').waitFor();
  await eventually(async () => assert.equal(await selection(page), 'People went on taking dollars in shops.'));

  // Voices of a seminar speak for themselves; what they add is asked about.
  await showPanel(page, 'Map');
  await ask(page, 'Hold a seminar on it.');
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Which of these do you agree with?').waitFor();
  await page.getByRole('article', { name: 'Advocate' }).getByText('Each of us takes a note').waitFor();
  await page.getByRole('article', { name: 'Sceptic' }).getByText('A state that takes its notes').waitFor();
  await everyForm(page, 'tutor-seminar', { panel: 'Map' });
  await dock.getByRole('group', { name: 'A note is taken' }).getByLabel('I hold this').check();
  await dock.getByRole('group', { name: 'Taxes make money' }).getByLabel('Dismiss').check();
  await dock.getByRole('textbox').fill('Taxes are a kind of trust.');
  await dock.getByRole('button', { name: 'Send' }).click();
  await says(page, 'Both have spoken. Where does that leave you?');
  await rest(page);
  await showMap();
  await line('A note is taken').getByText('Advocate, held').waitFor();
  assert.equal(await line('Taxes make money').count(), 0);

  await panel.getByRole('button', { name: 'Expand' }).click();
  await page.getByRole('dialog', { name: 'Argument map' }).waitFor();
  await accessible(page, 'the large map');
  await shoot(page, 'tutor-large-desktop-light');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}, { patience: 40_000 });

/** What the person said, if it has the focus. */
function focused(page) {
  return page.evaluate(() => document.activeElement.querySelector('.bubble')?.textContent ?? '');
}

/** The words that are chosen in the editor. */
function selection(page) {
  return page.evaluate(() => {
    const root = document.querySelector('.code')?.shadowRoot;
    return String((root?.getSelection ? root : document).getSelection());
  });
}
