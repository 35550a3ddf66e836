// A file of the team, from the question to the undo; and the other tenant, who sees none of it.
import { accessible, ask, assert, eventually, rest, says, showChat, showConversations, signIn, story, told, url } from './kit.mjs';

const { keys, path, place } = told;

await story(
  async ({ page, browser }) => {
    const dock = page.getByRole('region', { name: 'Agent requests' });
    const article = page.getByRole('article', { name: path });

    await page.goto(url);
    await signIn(page, 'bsk_000000000000_wrong');
    await page.getByRole('alert').getByText('Unknown API key').waitFor();
    await signIn(page, keys.ada);
    await page.locator('#composer').waitFor();

    // The agent, and the workspace: only those that the identity may use are offered.
    await page.getByRole('button', { name: /^Agent: / }).click();
    await page.getByRole('button', { name: 'Team files Works on' }).click();
    const picker = page.getByRole('button', { name: 'Workspace: ' });
    await picker.click();
    assert.deepEqual(await page.locator('[popover]:popover-open li').allInnerTexts(), ['board', 'main']);
    await page.getByRole('button', { name: 'board', exact: true }).click();
    await page.getByRole('button', { name: 'Workspace: board' }).waitFor();
    await ask(page, 'Set the time of the dive');

    // The difference is what is approved.
    const lines = dock.getByRole('group', { name: `Changes to ${path}` });
    await dock.waitFor({ timeout: 60_000 }); // the first run of a server builds the agent
    await lines.waitFor();
    await lines.locator('.passage').first().waitFor();
    assert.match(await lines.locator('.changed').innerText(), /Dive/);
    assert.match(await lines.locator('.changed del').innerText(), /slowly/);
    assert.match(await lines.locator('.changed ins').innerText(), /at first light/);
    await page.getByTitle('This conversation uses the workspace board').first().waitFor();
    await accessible(page, 'approval');
    await dock.getByRole('button', { name: 'Approve' }).click();
    await says(page, 'The specialist is back.');
    await rest(page);
    await page.getByTitle('This conversation uses the workspace board').first().waitFor();

    // The conversation keeps what was decided, and leads to the file as it is now.
    const decision = page.locator('.decision', { hasText: `You approved a change to ${path.slice(1)}` });
    assert.match(await decision.innerText(), /\(\+1 −1\)/);
    await decision.getByRole('button', { name: `Show ${path}` }).click();
    await article.getByRole('heading', { name: 'Plan', exact: true }).waitFor();
    await article.getByText('Dive at first light.').waitFor();
    await accessible(page, 'team-file');

    // The record, and back.
    await showChat(page);
    await decision.getByRole('button', { name: 'Undo' }).click();
    const row = page.getByRole('list', { name: 'Change history' }).getByRole('listitem').filter({ hasText: path });
    await row.getByText('Edited').waitFor();
    assert.match(await row.innerText(), /requested by ada, approved by ada/);
    const sure = page.getByRole('region', { name: `Undo this change to ${path}?` });
    await sure.locator('.changed ins', { hasText: 'slowly' }).waitFor();
    await accessible(page, 'undo');
    await sure.getByRole('button', { name: 'Cancel' }).click();
    await sure.waitFor({ state: 'detached' });
    await row.getByRole('button', { name: 'Undo' }).click();
    await sure.getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('status').getByText(`${path} has been restored.`).waitFor();
    await row.filter({ hasText: 'Restored' }).waitFor();
    await row.filter({ hasText: 'Edited' }).getByText('undone').waitFor();
    await accessible(page, 'changes');
    await page.getByRole('button', { name: 'Files', exact: true }).click();
    await article.getByText('Dive slowly.').waitFor();
    assert.equal(await article.getByText('first light').count(), 0);

    // The same in a page of its own, and after a reload the conversation still says where it belongs.
    await page.reload();
    await page.getByTitle('This conversation uses the workspace board').first().waitFor();
    await decision.waitFor();
    await showConversations(page);
    await page.getByRole('link', { name: 'Team files' }).click();
    await page.getByRole('heading', { name: 'Team files', level: 1 }).waitFor();
    await page.getByRole('main').getByRole('button', { name: `Folder ${place.slice(1)}` }).click();
    await page.getByRole('main').getByRole('button', { name: 'plan.md' }).click();
    await page.getByRole('main').getByText('Dive slowly.').waitFor();
    await accessible(page, 'team-page');

    // Bob is of the same team and may use one of its workspaces; Eve is of another.
    for (const [user, workspaces] of [['bob', ['main']], ['eve', ['main']]]) {
      const context = await browser.newContext();
      const theirs = await context.newPage();
      await theirs.goto(url);
      await signIn(theirs, keys[user]);
      await theirs.getByText(`Signed in as ${user}`).waitFor();
      await theirs.getByRole('link', { name: 'Team files' }).click();
      const choice = theirs.getByRole('main').getByLabel('Workspace');
      await eventually(async () => assert.deepEqual(await choice.locator('option').allInnerTexts(), workspaces));
      await theirs.getByRole('main').getByRole('button', { name: 'Changes' }).click();
      await theirs.getByRole('main').getByRole('button', { name: 'Refresh' }).click();
      for (const at of ['files?path=/', `file?path=${path}`, 'changes']) {
        const asked = await theirs.evaluate(
          async ([where, key]) => {
            const answer = await fetch(where, { headers: { 'x-api-key': key } });
            return `${answer.status} ${await answer.text()}`;
          },
          [`/workspaces/board/${at}`, keys[user]],
        );
        assert.match(asked, /^40[34] /);
      }
      assert.equal((await theirs.locator('body').innerText()).includes(place), false);
      await context.close();
    }
  },
  { allows: /401|403|404/ },
);
