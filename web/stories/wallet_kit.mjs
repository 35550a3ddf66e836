// What the wallet's stories share.
import { ask, assert, conversations, eventually, open, says, showConversations } from './kit.mjs';

export const wallet = (page) => page.getByRole('main');

/** Show the wallet's page. */
export async function showWallet(page) {
  await showConversations(page);
  await page.getByRole('link', { name: 'Wallet', exact: true }).click();
  await page.getByRole('heading', { name: 'Wallet', exact: true }).waitFor();
}

export async function showConversation(page, title) {
  await showConversations(page);
  await conversations(page).getByRole('link', { name: title }).first().click(); // the newest
  await page.locator('#composer').waitFor();
}

/** What the wallet's page says that there is. */
export async function balance(page) {
  return Number((await page.locator('[data-balance]').innerText()).replaceAll(',', ''));
}

export async function hasBalance(page, sats) {
  await eventually(async () => assert.equal(await balance(page), sats), 30); // a request that hangs is given up after 20
}

/** On the wallet's page: an invoice that the mint's pretended wallet pays. */
export async function fund(page, sats) {
  await page.getByRole('spinbutton', { name: 'Sats to add' }).fill(String(sats));
  await page.getByRole('button', { name: 'Create invoice' }).click();
}

export const line = (page) => page.getByRole('region', { name: 'Conversation cost' });
export const dock = (page) => page.getByRole('region', { name: 'Agent requests' });

/** Lock a budget from the line under the composer. */
export async function budget(page, sats) {
  await line(page).getByRole('button', { name: /Set a budget|Top up/ }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByRole('spinbutton', { name: 'Sats to lock' }).fill(String(sats));
  await sheet.getByRole('button', { name: /^Lock / }).click();
  return sheet;
}

/** Open the app with so many sats in the wallet. */
export async function begin(page, sats) {
  await open(page);
  await showWallet(page);
  await fund(page, sats);
  await hasBalance(page, sats);
}

/** The wallet's tables, read beside the app. */
export function tables(page) {
  return page.evaluate(async () => {
    const asked = (request) => new Promise((done, failed) => ((request.onsuccess = () => done(request.result)), (request.onerror = failed)));
    const db = await asked(indexedDB.open('bathysphere-wallet'));
    const names = [...db.objectStoreNames];
    const rows = {};
    for (const name of names) rows[name] = await asked(db.transaction(name).objectStore(name).getAll());
    db.close();
    return rows;
  });
}

/** Nothing is under way, and the tables add up to what is shown. */
export async function settled(page) {
  return eventually(async () => {
    const { coins, operations } = await tables(page);
    assert.deepEqual(operations.filter((row) => row.status === 'open' || row.delivery === 'waiting').map((row) => row.kind), []);
    assert.deepEqual(coins.filter((coin) => coin.operation), []);
    return { coins: coins.map(({ secret, amount }) => ({ secret, amount })), operations };
  });
}

export { ask, says };
