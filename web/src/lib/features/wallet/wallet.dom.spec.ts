import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { FakeLocks, FakeServer } from '../../../../tests/fake-server';
import InApp from '../../../../tests/InApp.svelte';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from '$lib/state/app.svelte';
import { payments } from './payments.svelte';
import WalletPage from './WalletPage.svelte';

const NOTHING_IS_PAID = 'This server is free to use, so there is no wallet.';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it('says that nothing is paid for, once the server has said so', async () => {
  const server = new FakeServer();
  const answers: Record<string, unknown> = { '/workspaces': { tenant: 'local', user: 'me', workspaces: [] }, '/payments': { enabled: false } };
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) =>
    path in answers ? Response.json(answers[path]) : server.fetch(path, init),
  );
  const app = new AppState(new Api(), installed);
  render(InApp, { app, component: WalletPage });
  expect(screen.queryByText(NOTHING_IS_PAID)).toBeNull();
  payments.start(app);
  await app.session.look();
  await screen.findByText(NOTHING_IS_PAID);
});
