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

it('shows a text with its changes in it, word by word', () => {
  const diff = '--- /plan.md\n+++ /plan.md\n@@ -1,2 +1,2 @@\n # Plan\n-Dive slowly down.\n+Dive quickly down.\n';
  const { container } = render(UnifiedDiff, { path: '/plan.md', diff });
  const words = (of: string) => [...container.querySelectorAll(of)].map((found) => found.lastChild?.textContent);
  expect([words('del'), words('ins')]).toEqual([['slowly'], ['quickly']]);
  expect(container.querySelectorAll('.line')).toHaveLength(0);
});

it('shows that the end of a line goes, which has no width', () => {
  const diff = '--- /a.md\n+++ /a.md\n@@ -1,2 +1 @@\n-One line\n-and another.\n+One line and another.\n';
  const { container } = render(UnifiedDiff, { path: '/a.md', diff });
  expect(container.querySelector('del')?.textContent).toContain('↵');
});
