// Where somebody else chose the model, the settings say who, and offer nothing.
import { assert, everyForm, open, story } from './kit.mjs';

const who = process.argv[2];
const SAID = {
  environment: 'The model is set by BATHYSPHERE_MODEL_MAIN',
  operator: 'The operator of this server chooses the model.',
};

await story(async ({ page }) => {
  const main = page.getByRole('main');
  await open(page);
  await page.getByRole('link', { name: 'Settings' }).click();
  await main.getByText(SAID[who]).waitFor();
  await main.getByText('ollama:llama3.2').waitFor();
  assert.equal(await main.getByRole('button', { name: /^(Use|Download|Add)/ }).count(), 0);
  await everyForm(page, `settings-${who}`);
});
