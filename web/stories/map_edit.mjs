// The person works on the map: looks closer, adds a point, rewords one, decides on an objection, and takes it along as files.
import { writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { accessible, ask, assert, COLD, eventually, isOnPhone, open, rest, says, shoot, showChat, showPanel, story } from './kit.mjs';
import { everyForm } from './views.mjs';

await story(async ({ page }) => {
  await open(page);
  await ask(page, 'I hold that money is trust.', { agent: 'Tutor' });
  await says(page, 'What does that trust rest on?', COLD);
  await rest(page);
  await showPanel(page, 'Map');
  const panel = page.getByRole('tabpanel');
  const showMap = () => isOnPhone && showPanel(page, 'Map'); // on a desk it is beside the chat
  const point = (where, words) => where.getByRole('button', { name: words });

  // By keys alone: the room of the drawing, then a point, then the next one.
  const room = panel.getByRole('region', { name: 'Argument map' });
  const width = () => room.locator('svg').first().evaluate((svg) => svg.getBoundingClientRect().width);
  const fitted = await width();
  await room.focus();
  await page.keyboard.press('+');
  await eventually(async () => assert.ok((await width()) > fitted * 1.2));
  await page.keyboard.press('0');
  await eventually(async () => assert.equal(await width(), fitted));
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await panel.getByRole('group', { name: 'Objection', exact: true }).waitFor();

  // By the wheel with a modifier, by buttons, by two fingers.
  const box = await room.boundingBox();
  await page.mouse.move(box.x + 40, box.y + 40);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -200);
  await page.keyboard.up('Control');
  await eventually(async () => assert.ok((await width()) > fitted * 1.5));
  await panel.getByRole('button', { name: 'Fit', exact: true }).click();
  await eventually(async () => assert.equal(await width(), fitted));
  await panel.getByRole('button', { name: 'Zoom out', exact: true }).click();
  await eventually(async () => assert.ok((await width()) < fitted));
  await panel.getByRole('button', { name: 'Fit', exact: true }).click();
  await pinch(room, 60, 120);
  await eventually(async () => assert.ok((await width()) > fitted * 1.5));
  await panel.getByRole('button', { name: 'Fit', exact: true }).click();

  // An objection is worth answering, or dismissed.
  await panel.getByRole('group', { name: 'Objection', exact: true }).getByRole('button', { name: 'Worth answering' }).click();
  await panel.getByText('1 change will be sent with your next message.').waitFor();

  // A point of the person's own answers it.
  await panel.getByRole('button', { name: 'Add a point' }).click();
  const form = panel.getByRole('form', { name: 'Add a point' });
  await form.getByRole('textbox').fill('A price is not a use.');
  await form.getByLabel('Kind').selectOption('Reply');
  assert.deepEqual(await form.getByLabel('Answers').locator('option').allInnerTexts(), ['Nothing yet', 'Gold was money long before anybody trusted a bank.']);
  await accessible(page, 'a point of one’s own');
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await point(room, /^Reply you A price is not a use. \(held\)/).waitFor();
  assert.equal(await room.locator('.edge.answers').count(), 1);

  // Another is said in the person's words, in the same place.
  await point(room, /Paper has no use of its own/).click();
  const premise = panel.getByRole('group', { name: 'Premise', exact: true });
  await premise.getByRole('button', { name: 'Reword' }).click();
  assert.equal(await premise.getByRole('textbox').inputValue(), 'Paper has no use of its own.');
  await premise.getByRole('textbox').fill('A note is only paper.');
  await premise.getByRole('button', { name: 'Save wording' }).click();
  await point(room, /^Premise you A note is only paper. \(held\)/).waitFor();
  assert.equal(await point(room, /Paper has no use/).count(), 0);
  assert.equal(await room.locator('.edge.supports').count(), 1);

  // A reload forgets nothing; then the tutor is told.
  await panel.getByText('3 changes will be sent with your next message.').waitFor();
  await page.reload();
  await showMap();
  await panel.getByText('3 changes will be sent with your next message.').waitFor();
  await point(room, /A note is only paper/).waitFor();
  await everyForm(page, 'map-edited', { panel: 'Map' });
  await showMap();
  await panel.getByRole('button', { name: 'Send to the tutor now' }).click();
  await showChat(page);
  await says(page, 'So a price is not a use.');
  await rest(page);
  await showMap();
  await panel.getByText('will be sent with your next message').waitFor({ state: 'detached' });
  await page.reload();
  await showMap();
  await point(room, /^Reply you A price is not a use. \(held\)/).waitFor();
  await point(room, /^Objection Tutor Gold .*\(worth answering\)/).waitFor();

  // As files.
  const save = async (name) => {
    await panel.getByRole('button', { name: 'Export' }).click();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
    return { name: file.suggestedFilename(), bytes: await buffer(await file.createReadStream()) };
  };
  const argdown = await save('Argdown');
  assert.equal(argdown.name, 'argument-map.argdown');
  assert.match(String(argdown.bytes), /^\[Objection 1\]: Gold was money.*\n {2}- \[Reply 1\]$/m);
  assert.match(String((await save('Markdown')).bytes), /^ {2}- \*\*Premise, supports:\*\* A note is only paper\. \(you; held\)$/m);
  const png = await save('PNG image');
  assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
  if (process.env.STORY_PICTURES) await writeFile(`${process.env.STORY_PICTURES}/map-export.png`, png.bytes);
  const [wide, high] = [png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)];
  assert.ok(wide > 400 && high > 400, `${wide}×${high}`);

  // A room of its own: the drawing fills it.
  await panel.getByRole('button', { name: 'Expand' }).click();
  const dialog = page.getByRole('dialog', { name: 'Argument map' });
  await dialog.locator('svg .node').first().waitFor();
  const [space, drawn] = await Promise.all(['.room', '.room > svg'].map((part) => dialog.locator(part).boundingBox()));
  const filled = Math.max(drawn.width / space.width, drawn.height / space.height);
  assert.ok(filled > 0.5, `the drawing fills ${filled} of its room`);
  await accessible(page, 'the large map');
  await shoot(page, 'map-large-desktop-light');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}, { patience: 40_000 });

/** Two fingers on an element move apart. */
function pinch(element, from, to) {
  return element.evaluate((room, [near, far]) => {
    const box = room.getBoundingClientRect();
    const tell = (type, pointerId, x) =>
      room.dispatchEvent(new PointerEvent(type, { pointerId, pointerType: 'touch', bubbles: true, clientX: box.left + x, clientY: box.top + 40 }));
    tell('pointerdown', 1, 100);
    tell('pointerdown', 2, 100 + near);
    tell('pointermove', 2, 100 + far);
    tell('pointerup', 1, 100);
    tell('pointerup', 2, 100 + far);
  }, [from, to]);
}
