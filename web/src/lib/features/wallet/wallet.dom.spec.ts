import { cleanup, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import { payments } from './payments.svelte';
import WalletPage from './WalletPage.svelte';

const NOTHING_IS_PAID = 'This server is free to use, so there is no wallet.';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it('says that nothing is paid for, once the server has said so', async () => {
  const app = appOn({ '/workspaces': { tenant: 'local', user: 'me', workspaces: [] }, '/payments': { enabled: false } });
  renderInApp(app, WalletPage);
  expect(screen.queryByText(NOTHING_IS_PAID)).toBeNull();
  payments.start(app);
  await app.session.look();
  await screen.findByText(NOTHING_IS_PAID);
});
