import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import ModelCard from './ModelCard.svelte';

const card = {
  role: 'main',
  name: 'ollama:qwen3',
  provider: 'ollama',
  is_local: true,
  is_demo: false,
  is_usable: true,
  detail: 'Ollama is running',
  hint: null,
  profile: 'full',
  trust: null,
};

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

async function opened(more: object) {
  const app = appOn({ '/models': [{ ...card, ...more }] });
  renderInApp(app, ModelCard);
  await app.agents.load();
  await screen.findByRole('button', { name: /qwen3/ });
  // jsdom has no popovers, only what the browser says when one opens.
  const box = document.querySelector('[popover]')!;
  await fireEvent(box, Object.assign(new Event('toggle'), { newState: 'open' }));
  return document.body.textContent;
}

it('says the profile of a model and what it can be used for', async () => {
  const shown = await opened({ profile: 'lean', trust: 'short tasks' });
  expect(shown).toContain('lean profile');
  expect(shown).toContain('Agents use fewer tools and take one step at a time.');
  expect(shown).toContain('Tested. Use it for short tasks.');
});

it('says nothing of the profile if there is nothing to say', async () => {
  const shown = await opened({});
  expect(shown).toContain('ready');
  expect(shown).not.toContain('lean');
  expect(shown).not.toContain('Tested');
});

it('offers to load a model that Ollama does not have yet, and not one that it has', async () => {
  expect(await opened({ is_usable: false, hint: 'run `ollama pull qwen3`' })).toContain('Load model');
  cleanup();
  expect(await opened({})).not.toContain('Load model');
  cleanup();
  expect(await opened({ provider: 'openai', name: 'openai:qwen3', is_usable: false })).not.toContain('Load model');
});
