// A view in all its forms, with a panel beside the conversation or, on a phone, in its place; pictures where asked for.
import { accessible, inEachForm, isOnPhone, shoot, showChat, showPanel } from './kit.mjs';

/** Looks at the conversation, and at a panel beside it where one is named. */
export async function everyForm(page, name, { panel } = {}) {
  await inEachForm(page, async (form, theme) => {
    const looks = form === 'phone' && panel ? [undefined, panel] : [panel];
    for (const look of looks) {
      const where = [name, form === 'phone' ? look : '', form, theme].filter(Boolean).join('-').toLowerCase();
      await go(page, look);
      await accessible(page, where);
      await shoot(page, where);
    }
  });
  await go(page, isOnPhone ? undefined : panel);
}

async function go(page, panel) {
  if (panel) await showPanel(page, panel);
  else await showChat(page);
}
