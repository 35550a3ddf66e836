// A whole session through a proxy: nothing leaves the origin, and of the documents nothing leaves but answers
// to the agent's calls, every one of which is in the view of what left.
import { ask, assert, eventually, open, rest, says, showRecord, story, url } from './kit.mjs';
import { backupOf, dropFile, importBackup, kept, openDocuments, panel, patient } from './documents.mjs';
import { passagesIn, recordingProxy } from './proxy.mjs';

const origin = new URL(url).origin;
const { server, sent, close } = await recordingProxy(origin);
// Chromium itself asks about forms, in every page; the proxy let nothing of it through.
const OF_THE_BROWSER = ['https://content-autofill.googleapis.com'];
const given = (n) => `MARKER-GIVEN-${n}`;
const reef = `${given('READ')} The reef is old.\n${'It holds. '.repeat(60)}\n${given('GREP')} Fish are many.\n${'Sand. '.repeat(900)}MARKER-KEPT-REST\n`;

try {
  await story(
    async ({ page, context }) => {
      patient(context);
      await open(page);
      await openDocuments(page);
      await importBackup(
        page,
        backupOf([
          { id: 'doc-reef', title: 'reef.md', text: reef },
          { id: 'doc-light', title: 'light.md', text: `${given('SEARCH')} Many creatures of the abyss glow by a chemical reaction.\n` },
          { id: 'doc-diary', title: 'diary.md', text: 'MARKER-KEPT-DIARY I told nobody about my debts.\n' },
        ]),
      );
      await dropFile(page, 'dropped.txt', 'text/plain', Buffer.from('MARKER-KEPT-DROPPED nobody asked for it'));
      await panel(page).getByRole('button', { name: 'dropped.txt' }).first().waitFor();
      // The person's own search, by words and by meaning, stays here.
      await panel(page).getByRole('searchbox').fill('MARKER-KEPT-QUERY debts');
      await panel(page).getByRole('listitem').filter({ hasText: 'told nobody' }).first().waitFor();
      await eventually(async () => {
        const done = await page.evaluate(() => performance.getEntriesByName('search by meaning').length);
        assert.ok(done > 0, 'the person searched by meaning');
      }, 60);
      await panel(page).getByRole('searchbox').fill('');
      // The agent lists, reads a part, greps, searches by meaning, and proposes a change that is half taken.
      await ask(page, 'Work through my documents', { agent: 'Tutor' });
      const card = page.getByRole('region', { name: 'Agent requests' });
      await card.getByText('Change to light.md').waitFor({ timeout: 40_000 });
      await card.getByRole('button', { name: 'Edit', exact: true }).first().click();
      await card.getByRole('textbox', { name: 'Text of change 1' }).fill('MARKER-GIVEN-EDIT Many creatures glow.\n');
      await card.getByRole('button', { name: /^Apply/ }).click();
      await says(page, 'I have worked through them.');
      await rest(page);
      await panel(page).getByRole('button', { name: 'diary.md' }).first().click();
      await panel(page).getByRole('textbox', { name: 'Text of diary.md' }).click();
      await page.keyboard.type('MARKER-KEPT-TYPED ');
      await panel(page).getByText('Saved').waitFor();

      const { disclosures } = await kept(page);
      await showRecord(page);
      await panel(page).getByText(`${disclosures.length} passages`).waitFor();
      const shown = await panel(page).locator('li pre').allTextContents();
      check(disclosures, shown);
    },
    { proxy: { server } },
  );
} finally {
  close();
}

function check(disclosures, shown) {
  const origins = new Set(sent.map((request) => new URL(request.url).origin));
  for (const own of OF_THE_BROWSER) origins.delete(own);
  assert.deepEqual([...origins], [origin]);
  const all = sent.map(({ url: address, headers, body }) => `${decodeURIComponent(address)} ${headers} ${body}`);
  assert.deepEqual(all.filter((words) => words.includes('MARKER-KEPT')), [], 'what nobody asked for has left');
  for (const name of ['READ', 'GREP', 'SEARCH', 'EDIT']) {
    assert.ok(all.some((words) => words.includes(given(name))), `${name} was given`);
  }
  const passages = passagesIn(sent.filter(({ body }) => /doc-reef|doc-light|MARKER/.test(body)));
  assert.ok(passages.length >= 6, `passages left: ${passages.length}`);
  for (const passage of passages) {
    assert.ok(disclosures.some(({ text }) => text === passage), `not written down: ${passage}`);
    assert.ok(shown.includes(passage), `not shown: ${passage}`);
  }
  return passages.length;
}
