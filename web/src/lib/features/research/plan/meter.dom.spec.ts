import { cleanup, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { renderInApp } from '../../../../../tests/app-in-test';
import { FakeLocks, FakeServer } from '../../../../../tests/fake-server';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from '$lib/state/app.svelte';
import UsageMeter from './UsageMeter.svelte';

const A = '00000000-0000-7000-8000-00000000000a';
let app: AppState;

afterEach(() => {
  cleanup();
  app.conversation.close();
  vi.unstubAllGlobals();
});

async function labels(counts: readonly number[], sats: number): Promise<(string | null)[]> {
  const server = new FakeServer();
  vi.stubGlobal('fetch', server.fetch);
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
  server.add(A, ['First?', 'One.']);
  app = new AppState(new Api(), installed);
  app.show(A);
  await vi.waitFor(() => expect(app.conversation.isLive && server.streams).toBe(1));
  const { messages } = server.thread(A);
  server.tell(A, 'values', { messages, usage: { by: { main: counts }, seconds: 2 }, payment_spent_sats: sats });
  renderInApp(app, UsageMeter);
  await screen.findByText('Used in this run');
  return screen.getAllByRole('term').map(({ textContent }) => textContent);
}

it('counts one of a thing in the singular', async () => {
  expect(await labels([1, 1, 1], 1)).toEqual(['model call', 'tool call', 'token', 'working time', 'sat in total']);
});

it('counts none and several in the plural', async () => {
  expect(await labels([2, 0, 900], 50)).toEqual(['model calls', 'tool calls', 'tokens', 'working time', 'sats in total']);
});
