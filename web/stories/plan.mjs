// A plan is refused with a reason; the next plan has it; that one is changed and carried out.
import { accessible, ask, assert, open, rest, says, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'What is known?', { agent: 'Planner' });
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Start with this plan?').waitFor();
  await dock.getByText('language models on a laptop').first().waitFor();
  await accessible(page, 'plan');
  await dock.getByRole('button', { name: 'Reject' }).click();
  assert.ok(await dock.getByRole('button', { name: 'Reject' }).isDisabled(), 'a reason is needed');
  await dock.getByRole('textbox').fill('models on a phone');
  await dock.getByRole('button', { name: 'Reject' }).click();
  await dock.getByText('Find out about models on a phone').waitFor();
  await dock.getByRole('button', { name: 'Edit plan' }).click();
  await dock.getByRole('textbox', { name: 'step 1' }).fill('models on a watch');
  await dock.getByRole('button', { name: 'Use this plan' }).click();
  await says(page, 'Carried out: models on a watch.');
  await rest(page);
});
