// After an edit of the project, in a new window: the conversation is kept, and goes on.
import { ask, open, rest, says, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page, process.argv[2]);
  await says(page, 'The first answer.');
  await ask(page, 'And now?');
  await says(page, 'The second answer.');
  await rest(page);
});
