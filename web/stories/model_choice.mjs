// A model per conversation: chosen before the first words, switched in the middle, kept over a reload.
import { accessible, ask, assert, colours, DESKTOP, open, PHONE, rest, says, shoot, story, url } from './kit.mjs';

const NAMES = ['Quick', 'Thorough'];

for (const [form, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
  await story(async ({ page }) => {
    const chip = (name) => page.getByRole('button', { name: `Model: ${name}`, exact: true });
    const list = page.getByRole('list', { name: 'Models for this conversation' });
    const choose = async (name) => {
      await page.getByRole('button', { name: /^Model: / }).click();
      await list.getByRole('button', { name }).click();
      await list.waitFor({ state: 'detached' });
      await chip(name).waitFor();
    };

    await open(page);
    await chip('Quick').waitFor();
    await choose('Thorough');
    await ask(page, 'How deep is the sea?');
    await says(page, 'Ten thousand metres.', { timeout: 120_000 });
    await rest(page);

    // In the middle of it, another one; the server keeps the choice before anything is said.
    const kept = page.waitForResponse((answer) => answer.request().method() === 'PATCH' && answer.ok());
    await choose('Quick');
    await kept;
    await page.reload();
    await says(page, 'Ten thousand metres.');
    await chip('Quick').waitFor();
    await ask(page, 'And how wide?');
    await says(page, 'Very wide.');
    await rest(page);

    await chip('Quick').click();
    assert.deepEqual(await list.locator('b').allInnerTexts(), NAMES);
    assert.equal(await list.getByRole('button', { pressed: true }).innerText(), 'Quick');
    await list.getByText('$3 in, $15 out per million tokens').waitFor();
    for (const theme of ['light', 'dark']) {
      await colours(page, theme);
      assert.ok(await list.isVisible());
      await accessible(page, `the models, ${theme}, ${form}`);
      await shoot(page, `model-choice-${form}-${theme}`);
    }
    await page.keyboard.press('Escape');

    // A new conversation begins with the operator's model again.
    await choose('Thorough');
    await page.goto(url);
    await chip('Quick').waitFor();
  }, { viewport: size });
}
