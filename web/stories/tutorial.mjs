// A tutorial's steps in the browser, as its page tells them; what it downloads is kept in a folder.
import { join } from 'node:path';
import { COLD, story, told } from './kit.mjs';

const folder = process.argv[2];
const startsWith = (words) => new RegExp(`^\\s*${words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`);

/** What a reader would click: a button, a link or a tab with these words, the first that is visible. */
const clickable = (page, words) => {
  const roles = ['button', 'link', 'tab'].map((role) => page.getByRole(role, { name: startsWith(words) }));
  return roles[0].or(roles[1]).or(roles[2]).locator('visible=true').first();
};

const steps = {
  open: (page, address) => page.goto(address),
  click: (page, words) => clickable(page, words).click(COLD),
  choose: (page, words) => clickable(page, words).click(COLD),
  type: (page, words) => page.locator('#composer').fill(words),
  press: (page, key) => page.keyboard.press(key),
  'you see': (page, words) => page.getByText(words).locator('visible=true').first().waitFor(COLD),
};

await story(async ({ page }) => {
  const saved = [];
  page.on('download', (file) => saved.push(file.saveAs(join(folder, file.suggestedFilename()))));
  for (const { kind, target } of told) {
    console.error(`${kind} ${target}`);
    const download = target.startsWith('Proof') ? page.waitForEvent('download') : undefined;
    await steps[kind](page, target);
    await download;
  }
  await Promise.all(saved);
}, { patience: 40_000 });
