import { render, screen } from '@testing-library/svelte';
import { expect, it } from 'vitest';
import type { Part } from '../store/review';
import HunkView from './HunkView.svelte';

const part: Part = { hunk: { start: 0, old: 'old words\n', new: 'new words\n' }, isTaken: null, text: 'new words\n', reason: '' };
const shown = (isTaken: boolean | null) =>
  render(HunkView, { part: { ...part, isTaken }, before: 'old words\n', at: 1, of: 1, onchange: () => {} });

it('marks the old text as removed until the part is refused', () => {
  shown(null);
  expect(screen.getByText('old').tagName).toBe('DEL');
  expect(screen.getByText('new').tagName).toBe('INS');
});

it('shows the old text of a refused part as text that stays', () => {
  shown(false);
  expect(screen.getByText('Stays:')).toBeTruthy();
  expect(screen.getByText('old words').tagName).toBe('P');
  expect(document.querySelectorAll('del, ins')).toHaveLength(0);
  expect(screen.getByRole('region').classList).toContain('refused');
});
