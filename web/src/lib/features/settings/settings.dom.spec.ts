import { cleanup, fireEvent, screen, within } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import { storedLanguage } from '$lib/languages/choice';
import type { LocalModel, SetupWire } from './api';
import SettingsPage from './SettingsPage.svelte';

afterEach(() => {
  cleanup();
  localStorage.clear();
  vi.unstubAllGlobals();
});

const card = { role: 'main', name: 'demo:tour', provider: 'demo', is_local: true, is_demo: true, is_usable: true, detail: '', hint: null, profile: 'full', trust: null };
const HERE: LocalModel = { name: 'ollama:llama3.2:latest', is_here: true, size: null, licence: null, about: '' };
const AWAY: LocalModel = { name: 'ollama:qwen3:4b', is_here: false, size: 2_500_000_000, licence: 'Apache-2.0', about: 'for laptops' };
const SETUP: SetupWire = {
  model: 'demo:tour',
  fixed_by: null,
  programs: [
    { provider: 'ollama', title: 'Ollama', is_running: true, install: null, models: [HERE, AWAY] },
    { provider: 'lm-studio', title: 'LM Studio', is_running: false, install: null, models: [] },
  ],
  providers: [{ provider: 'anthropic', title: 'Anthropic', example: 'anthropic:claude-x', key: null, install: null }],
};

/** The page on a server with these choices; what it was sent, and how the load goes. */
async function shown({ setup = SETUP, refuses = '' }: { setup?: SetupWire | null; refuses?: string } = {}) {
  let now = setup;
  const sent: string[] = [];
  const answers = { '/models': [{ ...card, is_changeable: setup !== null }], '/info': { version: '1.2.3' } };
  const app = appOn(answers, (path, init) => {
    if (path === '/api/model/load') return new Response('data: {"status":"ready"}\n\n');
    if (!path.startsWith('/models/setup')) return undefined;
    if (init.method !== 'GET') sent.push(`${init.method} ${path} ${String(init.body)}`);
    if (init.method !== 'GET' && refuses) return Response.json({ message: refuses }, { status: 422 });
    const body = JSON.parse((init.body as string | undefined) ?? '{}') as { model?: string; key?: string };
    if (now && body.model) now = { ...now, model: body.model };
    if (now && body.key) now = { ...now, providers: now.providers.map((one) => ({ ...one, key: 'stored' as const })) };
    return now;
  });
  renderInApp(app, SettingsPage);
  await app.agents.lookAtModels();
  return { app, sent };
}

const rowOf = (name: string) => within(screen.getByText(name).closest<HTMLElement>('.row')!);

it('uses a model that is here with one click', async () => {
  const { sent } = await shown();
  await fireEvent.click(await screen.findByRole('button', { name: 'Use llama3.2' }));
  await vi.waitFor(() => rowOf('llama3.2').getByText('In use'));
  expect(sent).toEqual(['PUT /models/setup {"model":"ollama:llama3.2:latest"}']);
});

it('says how large a download is, and under which licence', async () => {
  await shown();
  await screen.findByRole('button', { name: 'Download 2.5 GB: qwen3:4b' });
  screen.getByText('Ollama · Apache-2.0 · For laptops');
  screen.getByText('LM Studio is not running.');
});

it('forgets a key as soon as it is sent', async () => {
  const { sent } = await shown();
  await fireEvent.click(await screen.findByRole('button', { name: 'Add key for Anthropic' }));
  const field = screen.getByLabelText<HTMLInputElement>('API key for Anthropic');
  expect(field.type).toBe('password');
  await fireEvent.input(field, { target: { value: ' sk-secret-key ' } });
  await fireEvent.click(screen.getByRole('button', { name: 'Save key' }));
  await screen.findByText('Key saved');
  expect(sent).toEqual(['PUT /models/setup/keys/anthropic {"key":"sk-secret-key"}']);
  expect(screen.queryByDisplayValue(/sk-secret-key/)).toBeNull();
  expect(document.body.innerHTML).not.toContain('sk-secret-key');
  expect(JSON.stringify({ ...localStorage })).not.toContain('sk-secret-key');
});

it('says why a choice was refused, where it was made', async () => {
  await shown({ refuses: 'Ollama has no such model' });
  await fireEvent.click(await screen.findByRole('button', { name: 'Use llama3.2' }));
  await vi.waitFor(() => expect(rowOf('llama3.2').getByRole('alert').textContent).toBe('Ollama has no such model'));
  expect(screen.getAllByRole('alert')).toHaveLength(1);
});

it('offers nothing where the environment decides', async () => {
  await shown({ setup: { ...SETUP, fixed_by: 'BATHYSPHERE_MODEL_MAIN' } });
  await screen.findByText(/The model is set by BATHYSPHERE_MODEL_MAIN/);
  expect(screen.queryByRole('button', { name: /^(Use|Download|Add)/ })).toBeNull();
});

it('asks a server of others for nothing, and says who chooses', async () => {
  const { sent } = await shown({ setup: null });
  await screen.findByText('The operator of this server chooses the model.');
  expect(screen.queryByText('On this machine')).toBeNull();
  expect(sent).toEqual([]);
});

it('keeps the theme and the size of text', async () => {
  const { app } = await shown();
  await fireEvent.click(screen.getByRole('radio', { name: 'Dark' }));
  await fireEvent.click(screen.getByRole('radio', { name: 'Large' }));
  expect([app.layout.theme, app.layout.textSize]).toEqual(['dark', 'large']);
  expect(localStorage.getItem('bathysphere.layout')).toContain('"textSize":"large"');
});

it('shows the version', async () => {
  await shown();
  await screen.findByText('Version 1.2.3');
});

it('keeps the language and loads the page again', async () => {
  const reload = vi.spyOn(location, 'reload').mockImplementation(() => undefined);
  await shown();
  const choice = screen.getByRole<HTMLSelectElement>('combobox', { name: 'Language' });
  expect([...choice.options].map(({ text }) => text)).toEqual(['Match browser (English)', 'English', 'Deutsch', 'Español']);
  await fireEvent.change(choice, { target: { value: 'de' } });
  expect([storedLanguage(), reload.mock.calls.length]).toEqual(['de', 1]);
  await fireEvent.change(choice, { target: { value: '' } });
  expect([storedLanguage(), reload.mock.calls.length]).toEqual([null, 2]);
});
