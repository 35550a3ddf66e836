import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
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
  const answers = { '/models': [card] };
  const app = appOn(answers);
  renderInApp(app, ModelBanner);
  expect(screen.queryByRole('alert')).toBeNull();
  await app.agents.load();
  const { textContent } = await screen.findByRole('alert');
  expect(textContent).toContain(
    'The model is unavailable: openai:gpt-5 needs an API key (OPENAI_API_KEY). Set OPENAI_API_KEY, or choose another model.',
  );
  answers['/models'] = [{ ...card, is_usable: true }];
  await fireEvent.click(screen.getByRole('button', { name: 'Check again' }));
  await vi.waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
});
