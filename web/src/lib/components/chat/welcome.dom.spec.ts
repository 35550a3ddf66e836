import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import Welcome from './Welcome.svelte';

const model = { role: 'main', name: 'demo', provider: 'demo', is_local: true, is_usable: true, detail: '', hint: null };

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

async function show(agent: string, isDemo: boolean, ...others: string[]) {
  const assistants = [agent, ...others].map((name) => ({ assistant_id: name, graph_id: name, name, description: '', metadata: {} }));
  const app = appOn({ '/assistants/search': assistants, '/models': [{ ...model, is_demo: isDemo }] });
  await app.agents.load();
  app.agents.choose(agent);
  renderInApp(app, Welcome);
  return app;
}

it('says before the first question that research without a model covers sample pages only', async () => {
  await show('research', true);
  expect(screen.getByRole('note').textContent).toContain('Sample pages only: no model is set up');
});

it.each([['research', false], ['simple', true]] as const)('says nothing of sample pages for %s (demo: %s)', async (agent, isDemo) => {
  await show(agent, isDemo);
  expect(screen.queryByRole('note')).toBeNull();
});

it('asks the agent that a card is for', async () => {
  const app = await show('simple', true, 'tutor');
  await fireEvent.click(screen.getByRole('button', { name: /Test an argument/ }));
  expect([app.agents.chosen.name, app.draft]).toEqual(['tutor', expect.stringContaining('car-free')]);
});
