import { expect, test, vi } from 'vitest';
import { unseenUntilDrawn } from './unseen';

vi.mock('$lib/markdown/renderer.svelte', () => ({ loadRenderer: () => Promise.resolve() }));

function listOf(html: string): HTMLElement {
  const list = document.createElement('div');
  list.innerHTML = html;
  return list;
}

const isUnseen = (list: HTMLElement) => list.classList.contains('unseen');

test('turns that are opened are shown when all of them are drawn', async () => {
  const list = listOf('<article data-message="1"><div data-drawing></div></article>');
  const leave = unseenUntilDrawn(false)(list);
  await new Promise((done) => setTimeout(done, 100));
  expect(isUnseen(list)).toBe(true);
  list.querySelector('[data-drawing]')!.remove();
  await vi.waitFor(() => expect(isUnseen(list)).toBe(false), { timeout: 300 });
  leave?.();
});

test('turns whose drawing takes long are shown nevertheless', async () => {
  const list = listOf('<article data-message="1"><div data-drawing></div></article>');
  const leave = unseenUntilDrawn(false)(list);
  await vi.waitFor(() => expect(isUnseen(list)).toBe(false), { timeout: 1_500 });
  leave?.();
});

test('a conversation that loads, and one without turns, stay in sight', () => {
  const [loading, empty] = [listOf('<article data-message="1"></article>'), listOf('<p></p>')];
  unseenUntilDrawn(true)(loading);
  unseenUntilDrawn(false)(empty);
  expect([loading, empty].map(isUnseen)).toEqual([false, false]);
});

test('turns are in sight after the list is left', () => {
  const list = listOf('<article data-message="1"></article>');
  const leave = unseenUntilDrawn(false)(list);
  expect(isUnseen(list)).toBe(true);
  leave?.();
  expect(isUnseen(list)).toBe(false);
});

test('what was opened before does not show what is opened next', async () => {
  const list = listOf('<article data-message="1"><div data-drawing></div></article>');
  const leaveFirst = unseenUntilDrawn(false)(list);
  await new Promise((done) => setTimeout(done, 350));
  leaveFirst?.();
  const leave = unseenUntilDrawn(false)(list);
  await new Promise((done) => setTimeout(done, 300));
  expect(isUnseen(list)).toBe(true);
  leave?.();
});
