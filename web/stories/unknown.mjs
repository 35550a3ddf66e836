// A request of a type that nobody here knows gets a form from its schema.
import { accessible, ask, open, rest, says, story } from './kit.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'Dive', { agent: 'Diver' });
  const dock = page.getByRole('region', { name: 'Agent requests' });
  await dock.getByText('Cape Verde').waitFor();
  await accessible(page, 'form');
  await dock.getByRole('spinbutton').fill('42');
  await dock.getByRole('combobox').selectOption('one');
  await dock.getByRole('checkbox').check();
  await dock.getByRole('button', { name: 'Send' }).click();
  await says(page, 'Down to 42 m with one, ready: True.');
  await rest(page);
});
