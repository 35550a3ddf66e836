// On one's own machine: from the scripted tour to a model of Ollama, one that is downloaded, and one with a key.
import { ask, assert, accessible, COLD, eventually, everyForm, isOnPhone, open, rest, says, shoot, showConversations, story } from './kit.mjs';

const KEY = 'sk-ant-a-secret-of-the-person';

await story(async ({ page }) => {
  const main = page.getByRole('main');
  const row = (name) => main.locator('.row').filter({ has: page.locator('.label', { hasText: new RegExp(`^${name}$`) }) });

  await open(page);
  await page.getByRole('button', { name: /^Model: / }).click();
  await shoot(page, 'model-card');
  await page.getByRole('button', { name: 'Set up a model' }).click();
  await main.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  await row('llama3.2').waitFor();
  assert.equal(await page.locator('h1').count(), 1);
  assert.equal(await main.getByText('nomic-embed-text').count(), 0);
  await main.getByText('LM Studio is not running.').waitFor();
  await everyForm(page, 'settings-tour');

  // One that is here is used at once.
  await main.getByRole('button', { name: 'Use llama3.2' }).click();
  await row('llama3.2').getByText('In use').waitFor();
  await main.getByText('Your messages stay on this machine.').waitFor();
  await open(page);
  await ask(page, 'Who are you?');
  await says(page, 'I am llama3.2:latest, and I run on this machine.', COLD);
  await rest(page);

  // Another is downloaded, which can be cancelled.
  await showConversations(page);
  await page.getByRole('link', { name: 'Settings' }).click();
  const download = main.getByRole('button', { name: 'Download 2.5 GB: qwen3:4b' });
  await download.click();
  const bar = row('qwen3:4b').getByRole('progressbar');
  await bar.waitFor();
  await row('qwen3:4b').getByText(/Downloading: [1-9]\d? %/).waitFor();
  await everyForm(page, 'settings-download');
  await row('qwen3:4b').getByRole('button', { name: 'Cancel' }).click();
  await row('llama3.2').getByText('In use').waitFor();
  await bar.waitFor({ state: 'detached' });
  await eventually(async () => assert.ok(await download.isEnabled()));
  await download.click();
  await bar.waitFor();
  await row('qwen3:4b').getByText('In use').waitFor({ timeout: 30_000 });
  await page.reload();
  await row('qwen3:4b').getByText('In use').waitFor(); // the server kept it

  // A key goes to the server and is never seen again.
  await main.getByRole('button', { name: 'Add key for Anthropic' }).click();
  await main.getByLabel('API key for Anthropic').fill('two words');
  await main.getByRole('button', { name: 'Save key' }).click();
  await row('Anthropic').getByRole('alert').getByText('This is not an API key').waitFor();
  await shoot(page, 'settings-key-refused');
  await main.getByLabel('API key for Anthropic').fill(KEY);
  await accessible(page, 'entering a key');
  await everyForm(page, 'settings-key');
  await main.getByRole('button', { name: 'Save key' }).click();
  await row('Anthropic').getByText('Key saved').waitFor();
  await main.getByRole('button', { name: /^Use claude/ }).click();
  await row('Anthropic').getByText('In use').waitFor();
  await main.getByText('Your messages are sent to the provider.', { exact: true }).waitFor();
  await everyForm(page, 'settings-provider');
  await page.reload();
  await row('Anthropic').getByText('Key saved').waitFor();
  assert.ok(!(await page.content()).includes(KEY));
  await main.getByRole('button', { name: 'Remove key for Anthropic' }).click();
  await main.getByRole('button', { name: 'Add key for Anthropic' }).waitFor();
  await row('Scripted tour').waitFor(); // its model is of no use without it

  // How it looks is kept.
  await main.getByRole('radio', { name: 'Dark' }).check();
  await main.getByRole('radio', { name: 'Large' }).check();
  await page.reload();
  await row('llama3.2').waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize), '18px');
  await accessible(page, 'settings, dark and large');
  await shoot(page, 'settings-large');

  // The pages that it leads to lead back.
  await main.getByRole('link', { name: 'Memory' }).click();
  await main.getByRole('heading', { level: 1, name: 'Memory' }).waitFor();
  if (!isOnPhone) assert.equal(await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).getAttribute('aria-current'), 'true');
  await main.getByRole('link', { name: 'Back to Settings' }).click();
  await main.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
}, { allows: /status of 422/ });
