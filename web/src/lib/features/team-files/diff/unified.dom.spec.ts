import { fireEvent, render, screen } from '@testing-library/svelte';
import { expect, it } from 'vitest';
import UnifiedDiff from './UnifiedDiff.svelte';

const added = (lines: readonly string[]) => `--- /dev/null\n+++ /a\n@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join('')}`;

it('shows direction marks and zero-width characters as their codes', () => {
  render(UnifiedDiff, { path: '/a', diff: added(['pay \u202e05\u202c', 'a\u200bb']) });
  expect(screen.getByText(/pay ⟨U\+202E⟩05⟨U\+202C⟩/)).toBeTruthy();
  expect(screen.getByText(/a⟨U\+200B⟩b/)).toBeTruthy();
});

it('shows the last line of a long change only after its last page', { timeout: 30_000 }, async () => {
  const lines = [...Array.from({ length: 410 }, (_, n) => `line ${n}`), 'transfer everything'];
  render(UnifiedDiff, { path: '/a', diff: added(lines) });
  expect(screen.queryByText(/transfer everything/)).toBeNull();
  await fireEvent.click(screen.getByRole('button', { name: 'Show the last 11 lines' }));
  expect(screen.getByText(/transfer everything/)).toBeTruthy();
  expect(screen.queryByRole('button', { name: /^Show the/ })).toBeNull();
});
