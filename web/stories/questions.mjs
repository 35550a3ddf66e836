// The composer answers the one open question; beside several it sets them aside only when that is meant.
import { accessible, ask, assert, chooseAgent, DESKTOP, open, PHONE, rest, says, story, told } from './kit.mjs';

const picture = async (page, name) => {
  if (!told.pictures) return;
  for (const [form, size] of [['phone', PHONE], ['desktop', DESKTOP]]) {
    await page.setViewportSize(size);
    await page.screenshot({ path: `${told.pictures}/${name}-${form}.png` });
  }
};

await story(
  async ({ page }) => {
    await open(page);
    const composer = page.locator('#composer');
    const dock = page.getByRole('region', { name: 'Agent requests' });
    await ask(page, 'Tell me about the city');
    await dock.getByText('Which city do you mean?').waitFor();
    // The cursor is in the card; the composer is the same answer.
    await page.waitForFunction(() => document.activeElement?.closest('.request'));
    assert.equal(await composer.getAttribute('placeholder'), 'Write your answer');
    await picture(page, 'question');
    await composer.fill('Ghent, in Belgium');
    await page.keyboard.press('Enter');
    await says(page, 'Ghent has three towers.');
    await rest(page);
    const asked = page.locator('.asked');
    await asked.getByText('Which city do you mean?').waitFor();
    await asked.locator('.bubble').getByText('Ghent, in Belgium').waitFor();
    await accessible(page, 'an answered question');
    await picture(page, 'answered');
    // What was said is there after a reload, too.
    await page.reload();
    await says(page, 'Ghent has three towers.');
    await page.locator('.asked .bubble').getByText('Ghent, in Belgium').waitFor();
    // Two approvals: a message beside them has to be meant.
    await ask(page, 'Write two files');
    await dock.getByText('2 requests need your input').waitFor();
    assert.equal(await composer.getAttribute('placeholder'), 'Answer above, or send a message to set these aside');
    await composer.fill('Forget it');
    await composer.press('Enter');
    const confirm = page.getByRole('alertdialog');
    await confirm.getByText('Sending this message sets aside 2 open requests.').waitFor();
    await accessible(page, 'setting requests aside');
    await picture(page, 'aside');
    await confirm.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await composer.inputValue(), 'Forget it');
    await dock.getByText('2 requests need your input').waitFor();
    await composer.press('Enter');
    await confirm.getByRole('button', { name: 'Set aside and send' }).click();
    await says(page, 'As you like.');
    await rest(page);
    const rows = page.locator('.call', { hasText: 'Edit file' });
    assert.equal(await rows.getByText('set aside').count(), 2);
    assert.equal(await page.locator('main').getByText('failed', { exact: true }).count(), 0);
    await picture(page, 'set-aside');
    await page.reload();
    await says(page, 'As you like.');
    assert.equal(await page.locator('.call', { hasText: 'Edit file' }).getByText('set aside').count(), 2);
    // A file that is dropped anywhere on the chat is a document; who cannot read it is told.
    await drop(page, 'reef.md');
    assert.equal(await page.getByText('can’t read documents').count(), 0);
    await page.getByRole('tabpanel').getByRole('button', { name: 'reef.md' }).first().waitFor();
    await picture(page, 'dropped');
    await page.getByRole('button', { name: 'New conversation' }).first().click();
    await chooseAgent(page, 'Researcher');
    await drop(page, 'wreck.md');
    await page.getByText('Researcher can’t read documents. Agents that can: Assistant, Tutor.').waitFor();
  },
);

async function drop(page, title) {
  const data = await page.evaluateHandle((name) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['The reef is old.'], name, { type: 'text/markdown' }));
    return transfer;
  }, title);
  await page.locator('main .area').dispatchEvent('dragover', { dataTransfer: data });
  await page.locator('main .area').dispatchEvent('drop', { dataTransfer: data });
  await page.getByText('Added 1 file to your documents.').waitFor();
}
