// Two tabs on one thread stay in step: words, requests, answers, the list of conversations.
import { answers, ask, assert, eventually, open, rest, says, story } from './kit.mjs';

await story(async ({ page, context }) => {
  await open(page);
  await ask(page, 'Is it the fin or the Finn?');
  await page.getByText('Which one?').first().waitFor();
  const other = await context.newPage();
  await open(other, new URL(page.url()).pathname);
  const dock = (tab) => tab.getByRole('region', { name: 'Agent requests' });
  await dock(other).getByText('Which one?').waitFor();
  await dock(other).getByRole('textbox').fill('The fin');
  await dock(other).getByRole('button', { name: 'Send' }).click();
  for (const tab of [page, other]) {
    await says(tab, 'Then it is the fin of a whale.');
    await rest(tab);
    assert.equal(await dock(tab).count(), 0);
  }
  await ask(page, 'And the Finn?');
  await says(other, 'And the Finn?');
  await says(other, 'He is on the boat.');
  await eventually(async () => {
    const [mine, theirs] = [await answers(page).allInnerTexts(), await answers(other).allInnerTexts()];
    assert.deepEqual(mine, theirs);
    assert.equal(mine.filter((text) => text.includes('He is on the boat.')).length, 1);
  });
});
