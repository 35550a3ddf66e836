import { afterEach, expect, it, vi } from 'vitest';
import { appOn } from '../../../tests/app-in-test';

const card = { provider: 'openai', is_local: false, is_demo: false, is_usable: true, detail: '', hint: null, profile: 'full', trust: null };
const offered = { ...card, role: 'offered', agents: ['simple'] };
const MODELS = [
  { ...card, role: 'main', name: 'openai:small' },
  { ...offered, name: 'openai:small', label: 'Quick' },
  { ...offered, name: 'openai:large', label: 'Thorough' },
];

afterEach(() => vi.unstubAllGlobals());

async function loaded(models: object[] = MODELS) {
  const app = appOn({ '/models': models });
  await app.agents.load();
  return app;
}

it('shows the operator’s model until the person chooses another one for this conversation', async () => {
  const app = await loaded();
  expect(app.modelChoice.card?.label).toBe('Quick');
  expect(app.conversation.model()).toBeNull();
  await app.modelChoice.choose('openai:large');
  expect(app.modelChoice.card?.label).toBe('Thorough');
  expect(app.conversation.model()).toBe('openai:large');
  app.begin();
  expect(app.conversation.model()).toBeNull();
});

it('sends nothing that is not offered to the agent', async () => {
  const app = await loaded();
  await app.modelChoice.choose('openai:gone');
  expect(app.conversation.model()).toBeNull();
  expect(app.modelChoice.card?.label).toBe('Quick');
  const foreign = await loaded(MODELS.map((each) => ({ ...each, agents: ['another'] })));
  await foreign.modelChoice.choose('openai:large');
  expect(foreign.modelChoice.offered).toEqual([]);
  expect(foreign.conversation.model()).toBeNull();
});

it('offers no choice where there is one model', async () => {
  const app = await loaded(MODELS.slice(0, 1));
  expect(app.modelChoice.offered).toEqual([]);
  expect(app.modelChoice.card?.name).toBe('openai:small');
});
