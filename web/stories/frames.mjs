// Frames of an animation: pictures of the page, how long each is shown, and where the pointer is. Only where asked for.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.env.STORY_FRAMES;
const frames = [];
let pointer = null;

/** Take a picture that is shown so many milliseconds under a caption. */
export async function frame(page, caption, milliseconds) {
  if (!folder) return;
  const file = `${String(frames.length).padStart(3, '0')}.png`;
  await page.screenshot({ path: join(folder, file), animations: 'disabled', caret: 'initial' });
  frames.push({ file, caption, milliseconds, pointer });
  writeFileSync(join(folder, 'frames.json'), JSON.stringify(frames));
}

/** Write as a person does, in a few frames. */
export async function type(page, field, words, caption) {
  if (!folder) return field.fill(words);
  const pieces = words.match(/.{1,9}/gu);
  for (const [at] of pieces.entries()) {
    await field.fill(pieces.slice(0, at + 1).join(''));
    await frame(page, caption, 110);
  }
}

/** Move the pointer to something, and press it there. */
export async function press(page, target, caption, patience = {}) {
  if (folder) {
    await target.waitFor(patience);
    await target.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await target.boundingBox();
    pointer = { x: x + Math.min(width / 2, 160), y: y + height / 2 };
    await frame(page, caption, 900);
  }
  await target.click(patience);
  pointer = null;
}
