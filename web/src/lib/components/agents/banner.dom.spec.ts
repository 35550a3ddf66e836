import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { FakeLocks, FakeServer } from '../../../../tests/fake-server';
import InApp from '../../../../tests/InApp.svelte';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from '$lib/state/app.svelte';
import ModelBanner from './ModelBanner.svelte';

const card = {
  role: 'main',
  name: 'openai:gpt-5',
  provider: 'openai',
  is_local: false,
  is_demo: false,
  is_usable: false,
  detail: 'openai:gpt-5 needs an API key (OPENAI_API_KEY)',
  hint: 'set OPENAI_API_KEY, or choose another model',
};

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it('says that the model cannot answer, what to do, and goes when it can', async () => {
  const server = new FakeServer();
  let models = [card];
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) =>
    path.startsWith('/models') ? Response.json(models) : server.fetch(path, init),
  );
  const app = new AppState(new Api(), installed);
  render(InApp, { app, component: ModelBanner });
  expect(screen.queryByRole('alert')).toBeNull();
  await app.agents.load();
  const { textContent } = await screen.findByRole('alert');
  expect(textContent).toContain(
    'The model is unavailable: openai:gpt-5 needs an API key (OPENAI_API_KEY). Set OPENAI_API_KEY, or choose another model.',
  );
  models = [{ ...card, is_usable: true }];
  await fireEvent.click(screen.getByRole('button', { name: 'Check again' }));
  await vi.waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
});
