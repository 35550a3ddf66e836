import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import type { Decision } from '$lib/stream/view';
import { newCall } from '$lib/stream/view-updates';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import DecisionLines from './DecisionLines.svelte';
import { teamOf } from './team.svelte';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const decision = (over: Partial<Decision> = {}): Decision => ({
  type: 'approve',
  callId: 'c1',
  tool: 'edit_file',
  path: '/notes/travel.md',
  lines: { added: 2, removed: 1200 },
  ...over,
});

function shown(...decisions: Decision[]) {
  const app = appOn();
  const team = teamOf(app);
  vi.spyOn(team, 'pinned', 'get').mockReturnValue('main');
  const call = newCall('m', 'task', { name: 'task', status: 'done', decisions });
  renderInApp(app, DecisionLines, { call });
  return { app, team };
}

const words = () => [...document.querySelectorAll('.decision .words')].map((line) => line.textContent.replace(/\s+/g, ' ').trim());

it('says what was decided about each change, and how much it changed', () => {
  shown(
    decision(),
    decision({ callId: 'c2', type: 'edit', lines: null }),
    decision({ callId: 'c3', type: 'reject', lines: null }),
    decision({ callId: 'c4', tool: 'delete', lines: null }),
  );
  expect(words()).toEqual([
    'You approved a change to notes/travel.md 2 lines added, 1,200 lines removed(+2 −1,200)',
    'You approved a change to notes/travel.md with your edits',
    'You rejected a change to notes/travel.md',
    'You approved deleting notes/travel.md',
  ]);
  expect(screen.getAllByRole('button', { name: /^Show / })).toHaveLength(2);
  expect(screen.getAllByRole('button', { name: /^Undo / })).toHaveLength(3);
});

it('shows the file, or what undoing the change would do', async () => {
  const { app, team } = shown(decision());
  const show = vi.spyOn(team, 'showFile').mockResolvedValue();
  const ask = vi.spyOn(team, 'askUndo').mockResolvedValue();
  await fireEvent.click(screen.getByRole('button', { name: 'Show /notes/travel.md' }));
  expect(show).toHaveBeenCalledExactlyOnceWith('/notes/travel.md');
  await fireEvent.click(screen.getByRole('button', { name: 'Undo the change to /notes/travel.md' }));
  expect(ask).toHaveBeenCalledExactlyOnceWith('c1');
  expect(app.layout.panel).toBe('team');
});
