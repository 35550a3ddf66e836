import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import ChangeCard from './ChangeCard.svelte';

const LINES = 411;

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it('cannot be approved before its last line was shown', { timeout: 30_000 }, async () => {
  const added = Array.from({ length: LINES }, (_, n) => `+line ${n}\n`).join('');
  const payload = { name: 'write_file', path: '/a', version: 'v1', args: {}, diff: `--- /dev/null\n+++ /a\n@@ -0,0 +1,${LINES} @@\n${added}` };
  const onanswer = vi.fn();
  const question = { id: '1', type: 'approve_change', payload, schema: null, namespace: [], callId: null };
  renderInApp(appOn(), ChangeCard, { question, onanswer });
  const approve = screen.getByRole<HTMLButtonElement>('button', { name: 'Approve' });
  expect(approve.disabled).toBe(true);
  expect(screen.getByText('Show the whole change before you approve it.')).toBeTruthy();
  await fireEvent.click(screen.getByRole('button', { name: 'Show the last 11 lines' }));
  expect(approve.disabled).toBe(false);
  await fireEvent.click(approve);
  expect(onanswer).toHaveBeenCalledExactlyOnceWith({ type: 'approve' });
});
