// The views of a team's files in every form: light and dark, on a phone and on a desk.
import { ask, everyForm, rest, says, showPanel, signIn, story, told, url } from './kit.mjs';

const { keys, path } = told;

await story(
  async ({ page }) => {
    const dock = page.getByRole('region', { name: 'Agent requests' });
    const chat = () => page.getByRole('button', { name: 'Chat', exact: true }).click();
    const panels = async () => {
      await page.getByRole('button', { name: 'More' }).click();
      await showPanel(page, 'Team files');
    };
    await page.goto(url);
    await signIn(page, keys.bob);
    await page.locator('#composer').waitFor();
    await ask(page, 'Set the time of the dive', { agent: 'Team files' });
    await dock.waitFor({ timeout: 60_000 }); // the first run of a server builds the agent
    await dock.locator('.changed ins').waitFor();
    await everyForm(page, 'approval', { phone: chat });
    await dock.getByRole('button', { name: 'Approve' }).click();
    await says(page, 'The specialist is back.');
    await rest(page);
    await showPanel(page, 'Team files');
    await page.getByRole('tabpanel').getByRole('button', { name: path.slice(1) }).click();
    await page.getByRole('article', { name: path }).getByText('Dive at first light.').waitFor();
    await everyForm(page, 'team-file', { phone: panels });
    await page.getByRole('button', { name: 'Changes' }).click();
    const row = page.getByRole('list', { name: 'Change history' }).getByRole('listitem').filter({ hasText: path });
    await row.getByRole('button', { name: 'Undo' }).click();
    await row.locator('.changed ins').waitFor();
    await everyForm(page, 'changes', { phone: panels });
    await page.getByRole('link', { name: 'Team files' }).click();
    await page.getByRole('main').getByRole('button', { name: 'Files', exact: true }).click();
    await page.getByRole('main').getByText('Dive at first light.').waitFor();
    await everyForm(page, 'team-page'); // "Chat" would leave the page
  },
  { allows: /401/ },
);
