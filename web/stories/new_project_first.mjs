// A project that was made a moment ago: its agent is chosen, and answers.
import { answers, ask, assert, open, rest, says, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await page.getByRole('button', { name: 'Agent: x' }).waitFor();
  await ask(page, 'Hello');
  await says(page, 'The first answer.');
  await rest(page);
  assert.equal(await answers(page).count(), 1);
  return { path: new URL(page.url()).pathname };
});
