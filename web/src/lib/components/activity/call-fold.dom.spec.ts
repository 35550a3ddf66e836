import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { newCall } from '$lib/stream/view-updates';
import CallFold from './CallFold.svelte';

afterEach(cleanup);

const rows = () => [...document.querySelectorAll('[data-call]')].map((row) => row.getAttribute('data-call'));

it('is a line that says what was done, and has the rows of its calls behind it', async () => {
  const calls = ['a', 'b'].map((id) => newCall('m', id, { name: 'ls', args: {}, status: 'done' }));
  const { rerender } = render(CallFold, { calls });
  const line = screen.getByText('Listed files twice');
  expect(line.closest('summary')!.textContent).toContain('done');
  expect(rows()).toEqual([]);
  await fireEvent.click(line);
  await vi.waitFor(() => expect(rows()).toEqual(['a', 'b']));
  await rerender({ calls: [...calls, newCall('n', 'c', { name: 'read_file', args: { file_path: '/reef.md' }, status: 'running' })] });
  expect(screen.getByText('Listed files twice, reading reef.md…').closest('summary')!.textContent).toContain('running');
  await vi.waitFor(() => expect(rows()).toEqual(['a', 'b', 'c']));
});
