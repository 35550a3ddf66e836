// A reload in the middle of an answer goes on where the stream was; nothing is doubled or lost.
import { answers, ask, assert, eventually, growth, open, rest, says, story, watchGrowth } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'Tell me about the dive');
  await says(page, 'Word 5 ');
  await page.reload();
  await says(page, 'Word 5 ');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await watchGrowth(page, '.answer .message');
  await says(page, 'The end.');
  await rest(page);
  const lengths = await growth(page);
  assert.ok(lengths.length >= 3, `it went on streaming: ${lengths}`);
  assert.ok(lengths.every((length, index) => index === 0 || length > lengths[index - 1]), 'and only grew');
  await eventually(async () => {
    const words = (await answers(page).last().innerText()).match(/Word \d+/g);
    assert.deepEqual(words, Array.from({ length: 60 }, (_, n) => `Word ${n + 1}`));
  });
});
