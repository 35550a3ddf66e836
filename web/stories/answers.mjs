// Three requests are open at once, from two subagents; they are answered out of order.
import { accessible, ask, assert, eventually, open, rest, says, showPanel, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'Send out two helpers to tidy the files');
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('3 requests need your input').waitFor();
  await eventually(async () => assert.equal(await dock.getByText('subagent', { exact: true }).count(), 3));
  await accessible(page, 'three requests');
  const request = (words) => dock.locator('.request', { hasText: words });
  // The last first: refused, with a reason.
  await request('Delete file').getByRole('button').first().click();
  assert.match(await request('Delete file').innerText(), /Task:/);
  await dock.getByRole('button', { name: 'Reject' }).click();
  await dock.getByRole('textbox').fill('Keep it, I need it.');
  await dock.getByRole('button', { name: 'Reject' }).click();
  await dock.getByText('2 requests need your input').waitFor();
  // What was answered stays answered over a reload.
  await page.reload();
  await dock.getByText('2 requests need your input').waitFor();
  // Then the second edit, changed before it is allowed.
  await request('/b.md').getByRole('button').first().click();
  await dock.getByRole('button', { name: 'Edit', exact: true }).click();
  await dock.getByRole('textbox', { name: 'new_string' }).fill('blue whale');
  await dock.getByRole('button', { name: 'Approve with edits' }).click();
  await eventually(async () => assert.equal(await dock.locator('.request').count(), 1));
  await dock.getByRole('button', { name: 'Approve' }).click();
  await says(page, 'The helpers are back');
  await rest(page);
  await showPanel(page, 'Work');
  await page.getByRole('button', { name: '/b.md' }).click();
  await page.getByText('a blue whale').waitFor();
  await accessible(page, 'files');
});
