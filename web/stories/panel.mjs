// The panel on the right: closed until there is something in it, as the person left it, and never beside a page.
import { accessible, ask, assert, eventually, isOnPhone, open, rest, says, showChat, showConversations, showPanel, story, url } from './kit.mjs';

const panels = (page) => page.getByRole('complementary', { name: 'Agent activity' });
const selected = (page) => page.getByRole('tab', { selected: true });

/** At the first visit nothing is in it; the answer's plan opens it. */
async function opensOnThePlan(page) {
  await open(page);
  assert.equal(await panels(page).count(), 0);
  await ask(page, 'Show me the reef');
  await says(page, 'Here is the reef.');
  await rest(page);
  await panels(page).getByText('Look at the reef').waitFor();
  await accessible(page, 'the panel opened by itself');
}

/** No page of its own has it. */
async function isNeverBesideAPage(page) {
  for (const title of ['My documents', 'Settings', 'Memory']) {
    await page.getByRole('link', { name: title }).click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    assert.equal(await panels(page).count(), 0, title);
  }
  await page.getByRole('link', { name: 'Show me the reef' }).click();
  await panels(page).waitFor();
}

/** In a new conversation it is closed; what the person opened and closed stays so over a reload. */
async function isRemembered(page) {
  const address = page.url();
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await eventually(async () => assert.equal(await panels(page).count(), 0));
  await page.goto(address);
  await panels(page).getByText('Look at the reef').waitFor();
  await page.getByRole('button', { name: 'Hide panels' }).click();
  await page.reload();
  await says(page, 'Here is the reef.');
  await page.getByRole('button', { name: 'Show panels (something new)' }).waitFor();
  assert.equal(await panels(page).count(), 0);
  await showPanel(page, 'Documents');
  await page.goto(url);
  await panels(page).getByText('Drop files here').waitFor();
  assert.match(await selected(page).innerText(), /Documents/);
}

/** On a phone it never takes the chat's place by itself: a dot says that something is new. */
async function onPhone(page) {
  await open(page);
  await ask(page, 'Show me the reef');
  await says(page, 'Here is the reef.');
  await rest(page);
  await page.getByRole('button', { name: 'More (something new)' }).waitFor();
  await showPanel(page, 'Work');
  await page.getByRole('tabpanel').getByText('Look at the reef').waitFor();
  await accessible(page, 'the panel');
  await showChat(page);
  await says(page, 'Here is the reef.');
  await page.getByRole('button', { name: 'More', exact: true }).waitFor();
  await showConversations(page);
  await page.getByRole('link', { name: 'My documents' }).click();
  await page.getByRole('heading', { level: 1, name: 'My documents' }).waitFor();
  assert.equal(await page.getByRole('tablist').count(), 0);
}

await story(async ({ page }) => {
  if (isOnPhone) return onPhone(page);
  await opensOnThePlan(page);
  await isNeverBesideAPage(page);
  await isRemembered(page);
});
