// Pictures of each view for the documents; look at them.
import { ask, COLD, colours, DESKTOP, open, PHONE, rest, says, showPanel, showSteps, story } from './kit.mjs';

const folder = process.argv[2];
const dock = (page) => page.getByRole('region', { name: 'Agent requests' });

await story(async ({ page }) => {
  const forms = [
    ['desktop', DESKTOP],
    ['phone', PHONE],
  ];
  const shoot = async (name, prepare = async () => {}) => {
    for (const [form, size] of forms) {
      for (const theme of ['light', 'dark']) {
        await colours(page, theme);
        await page.setViewportSize(size);
        await prepare(form);
        await page.waitForTimeout(700);
        await page.screenshot({ path: `${folder}/${name}-${form}-${theme}.png` });
      }
    }
    await page.setViewportSize(DESKTOP);
  };
  const chat = async (form) => form === 'phone' && page.getByRole('button', { name: 'Chat' }).click();
  const panel = (name) => async (form) => {
    if (form === 'phone') await page.getByRole('button', { name: 'More' }).click();
    await showPanel(page, name);
  };
  const end = async (form) => {
    await chat(form);
    await page.locator('main .area').evaluate((area) => area.scrollTo(0, area.scrollHeight));
  };

  await open(page);
  await shoot('welcome', chat);
  await ask(page, 'Send out two helpers: one makes the case for nuclear power, one against. Then weigh them for me.');
  await says(page, 'Which of the two', COLD);
  await rest(page);
  await shoot('answer', end);
  await shoot('plan', panel('Work'));
  await shoot('trace', async (form) => {
    await panel('Work')(form);
    await showSteps(page);
  });
  await ask(page, 'Let us go on.');
  await dock(page).getByText('2 requests need your input').waitFor();
  await shoot('requests', end);
  await page.getByRole('button', { name: 'New conversation' }).click();
  await ask(page, 'What is known about language models that run on a laptop?', { agent: 'Planner' });
  await dock(page).getByText('Start with this plan?').waitFor();
  await shoot('plan-approval', end);
  await page.locator('#conversation').focus();
  await page.keyboard.press('?');
  await shoot('help');
});
