// An ambiguous request: the agent asks, the person chooses by keys, the answer fits.
import { accessible, ask, assert, open, rest, says, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'Write about the bank');
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Which bank do you mean?').waitFor();
  await accessible(page, 'clarification');
  assert.ok(await dock.getByRole('button', { name: 'Send' }).isDisabled());
  await dock.getByRole('radio', { name: 'The bank of a river' }).focus();
  await page.keyboard.press('2');
  assert.ok(await dock.getByRole('radio', { name: 'A house of money' }).isChecked());
  await dock.getByRole('button', { name: 'Send' }).click();
  await says(page, 'How the money house began');
  await rest(page);
  assert.equal(await dock.count(), 0);
});
