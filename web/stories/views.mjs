// A view in all its forms: light and dark, on a desk and a phone, without a violation; pictures where asked for.
import { accessible, colours, DESKTOP, PHONE, showPanel } from './kit.mjs';

const pictures = process.env.STORY_PICTURES;
/** `STORY_FORMS=one`: only as it is, for many runs in a row. */
const isOne = process.env.STORY_FORMS === 'one';

export async function shoot(page, name) {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` });
}

/** Looks at the conversation, and at a panel beside it where one is named. */
export async function everyForm(page, name, { panel } = {}) {
  if (isOne) {
    await go(page, 'desktop', panel);
    return accessible(page, name);
  }
  for (const theme of ['light', 'dark']) {
    await colours(page, theme);
    for (const [form, size] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
      await page.setViewportSize(size);
      const looks = form === 'phone' ? [undefined, panel].filter((look, at) => at === 0 || look) : [panel];
      for (const look of looks) {
        const where = [name, form === 'phone' ? look : '', form, theme].filter(Boolean).join('-').toLowerCase();
        await go(page, form, look);
        await accessible(page, where);
        await shoot(page, where);
      }
    }
  }
  await page.setViewportSize(DESKTOP);
  await colours(page, 'light');
}

async function go(page, form, panel) {
  if (form === 'phone') await page.getByRole('button', { name: panel ? 'More' : 'Chat' }).click();
  if (panel) await showPanel(page, panel);
}
