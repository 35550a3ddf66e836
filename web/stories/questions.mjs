// While the agent asks, the one box is for the answer; a message that sets requests aside has to be meant.
import { accessible, ask, assert, chooseAgent, isOnPhone, open, rest, says, shootEveryForm, showConversations, showPanel, story } from './kit.mjs';

await story(
  async ({ page }) => {
    await open(page);
    const composer = page.locator('#composer');
    const dock = page.getByRole('region', { name: 'Agent requests' });
    await ask(page, 'Tell me about the city');
    await dock.getByText('Which city do you mean?').waitFor();
    // The request is the one box to write in, and the cursor is there, except where it would bring up a keyboard.
    if (isOnPhone) await dock.getByRole('textbox').click();
    await page.waitForFunction(() => document.activeElement?.closest('.request'));
    assert.equal(await composer.count(), 0);
    await shootEveryForm(page, 'question');
    await page.keyboard.type('Ghent, in Belgium');
    await page.keyboard.press('Enter');
    await says(page, 'Ghent has three towers.');
    await rest(page);
    const asked = page.locator('.asked');
    await asked.getByText('Which city do you mean?').waitFor();
    await asked.locator('.bubble').getByText('Ghent, in Belgium').waitFor();
    await accessible(page, 'an answered question');
    await shootEveryForm(page, 'answered');
    // What was said is there after a reload, too.
    await page.reload();
    await says(page, 'Ghent has three towers.');
    await page.locator('.asked .bubble').getByText('Ghent, in Belgium').waitFor();
    // Two approvals: a message beside them has to be meant.
    await ask(page, 'Write two files');
    await dock.getByText('2 requests need your input').waitFor();
    await dock.getByText('1 of 2').waitFor();
    await shootEveryForm(page, 'two-requests');
    await page.getByRole('button', { name: 'Write something else' }).click();
    await page.getByText('Sending this message sets aside 2 open requests.').waitFor();
    await accessible(page, 'setting requests aside');
    await shootEveryForm(page, 'aside');
    await page.getByRole('button', { name: 'Back to the requests' }).click();
    assert.equal(await composer.count(), 0);
    await page.getByRole('button', { name: 'Write something else' }).click();
    await page.keyboard.type('Forget it');
    await page.keyboard.press('Enter');
    await says(page, 'As you like.');
    await rest(page);
    await foldsCalls(page);
    const rows = page.locator('.call', { hasText: 'Edit file' });
    assert.equal(await rows.getByText('set aside').count(), 2);
    assert.equal(await page.locator('main').getByText('failed', { exact: true }).count(), 0);
    await shootEveryForm(page, 'set-aside');
    await page.reload();
    await says(page, 'As you like.');
    assert.equal(await page.locator('.call', { hasText: 'Edit file' }).getByText('set aside').count(), 2);
    // A file that is dropped anywhere on the chat is a document, which these agents read.
    await drop(page, 'reef.md');
    assert.equal(await page.getByText('can’t read documents').count(), 0);
    await isListed(page, 'reef.md');
    await shootEveryForm(page, 'dropped');
    await showConversations(page);
    await page.getByRole('button', { name: 'New conversation' }).first().click();
    await chooseAgent(page, 'Researcher');
    await drop(page, 'wreck.md');
    await isListed(page, 'wreck.md');
    assert.equal(await page.getByText('can’t read documents').count(), 0);
  },
);

/** Calls of several messages are one line, until the person opens it; what was set aside stays in sight. */
async function foldsCalls(page) {
  const line = page.locator('.fold summary', { hasText: 'Wrote 2 files, read a.md' });
  await line.waitFor();
  assert.equal(await page.locator('.call').count(), 2);
  await shootEveryForm(page, 'folded');
  await line.press('Enter');
  await page.locator('.fold .call', { hasText: 'Read file' }).waitFor();
  assert.equal(await page.locator('.fold .call[data-call]').count(), 3);
  await accessible(page, 'calls behind a line');
  await shootEveryForm(page, 'unfolded');
  await line.press('Enter');
  await page.locator('.fold .call').first().waitFor({ state: 'detached' });
}

/** Documents are beside the chat; on a phone they are a tab away. */
async function isListed(page, title) {
  if (isOnPhone) await showPanel(page, 'Documents');
  await page.getByRole('tabpanel').getByRole('button', { name: title }).first().waitFor();
}

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
