// By keys alone: every control is reached in the order in which it is read, and each shows that it has the focus.
import { assert, eventually, isOnPhone, open, rest, says, story } from './kit.mjs';

const SIDEBAR = ['Bathysphere', 'Hide conversations', 'New conversation', 'Search conversations'];
const FOOT = ['My documents', 'Settings', 'Keyboard shortcuts', 'Help (opens in a new tab)'];
const TURN = ['Copy', 'Edit', 'Copy', 'Regenerate'];
const desk = (...names) => (isOnPhone ? [] : names);
const phone = (...names) => (isOnPhone ? names : []);
const order = (menu, ...main) => [
  'Skip to conversation', ...desk(...SIDEBAR, ...FOOT), 'Model:', ...menu, ...desk('Show panels'), ...main,
  ...phone('Conversations', 'Chat', 'More'),
];
const WELCOME = order([], 'Plan first, then act', 'Compare two views', 'Start with a question', 'Write a message', 'Agent:', 'Attach files');
const ASKED = order(['Conversation menu'], ...TURN, 'Assistant has a question', 'Which reef do you mean?', 'Write something else');
const ANSWERED = order(['Conversation menu'], ...TURN, 'Go deeper', 'The other side', 'Shorter', 'How do you know?', 'Write a message', 'Attach files');

/** What has the focus: its name, whether it is in the list of conversations, and whether one sees that it has it. */
const focused = () => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const isListed = element.closest('[data-thread-list] li') !== null; // other stories have conversations too
  const labelledBy = document.getElementById(element.getAttribute('aria-labelledby'))?.innerText;
  const name = element.getAttribute('aria-label') ?? (labelledBy || element.labels?.[0]?.innerText || element.innerText);
  // A field is marked by its own outline, or by the border around it and its icon.
  const [look, around] = [element, element.parentElement].map((one) => getComputedStyle(one));
  const accent = Object.assign(document.createElement('i'), { style: 'color: var(--accent)' });
  element.parentElement.append(accent);
  const isBordered = around.borderTopStyle !== 'none' && around.borderTopColor === getComputedStyle(accent).color;
  accent.remove();
  return { isListed, name: name.trim().split('\n')[0], isMarked: look.outlineStyle !== 'none' || look.boxShadow !== 'none' || isBordered };
};

const isInView = () => {
  const { top, bottom, left, right } = document.activeElement.getBoundingClientRect();
  return bottom > top && right > left && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
};

/** Press Tab through the whole page, from its beginning, as far as a control of this name. */
async function focusOrder(page, last = null) {
  await page.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
  });
  const names = [];
  for (let n = 0; n < 1_000; n++) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(focused);
    if (stop === null) return names;
    await eventually(async () => assert.ok((await page.evaluate(focused)).isMarked, `nobody sees that “${stop.name}” has the focus`), 2);
    await page.waitForFunction(isInView);
    if (!stop.isListed) names.push(stop.name);
    if (stop.name === last) return names;
  }
  return assert.fail(`Tab never leaves the page: ${names}`);
}

/** What the page still draws may take a stop away again. */
const inOrder = (page, names) => eventually(async () => assert.deepEqual(await focusOrder(page), names));

/** Type where the focus is, which nobody had to move. */
async function write(page, name, words) {
  await eventually(async () => assert.equal((await page.evaluate(focused))?.name, name));
  await page.keyboard.type(words);
  await page.keyboard.press('Enter');
}

await story(async ({ page }) => {
  await open(page);
  await inOrder(page, WELCOME);
  await focusOrder(page, 'Write a message');
  await write(page, 'Write a message', 'Show me the reef');
  await says(page, 'Which reef do you mean?');
  if (!isOnPhone) await eventually(async () => assert.match((await page.evaluate(focused))?.name, /question|reef/)); // a phone would open its keyboard
  await inOrder(page, ASKED);
  await focusOrder(page, 'Which reef do you mean?');
  await write(page, 'Which reef do you mean?', 'The outer one');
  await says(page, 'That one is alive.');
  await rest(page);
  await inOrder(page, ANSWERED);

  // The link at the beginning leads past everything; a menu takes the focus and gives it back.
  await focusOrder(page, 'Skip to conversation');
  await page.keyboard.press('Enter');
  await page.locator('#conversation:focus').waitFor();
  await focusOrder(page, 'Conversation menu');
  await page.keyboard.press('Enter');
  await page.locator(':popover-open').waitFor();
  await page.keyboard.press('Escape');
  await eventually(async () => assert.equal((await page.evaluate(focused))?.name, 'Conversation menu'));
});
