// Where nothing is paid for there is no wallet, nothing of it is loaded, and no other origin is allowed.
import { ask, assert, open, rest, says, story, url } from './kit.mjs';

await story(async ({ page }) => {
  const loaded = [];
  page.on('response', (response) => loaded.push(new URL(response.url()).pathname));
  await open(page);
  await ask(page, 'Hello');
  await says(page, 'For nothing.');
  await rest(page);
  assert.equal(await page.getByRole('link', { name: 'Wallet' }).count(), 0);
  assert.equal(await page.getByRole('region', { name: 'Conversation cost' }).count(), 0);
  assert.ok(loaded.includes('/payments'));
  assert.deepEqual(loaded.filter((path) => /purse|PayLine|WalletPage|wallet/i.test(path)), []);
  const policy = (await page.request.get(url)).headers()['content-security-policy'];
  assert.match(policy, /connect-src 'self';/);
});
