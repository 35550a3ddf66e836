import { describe, expect, it } from 'vitest';
import type { Api } from '$lib/protocol/api';
import { Agents } from './agents.svelte';

const assistants = ['research', 'simple', 'tutor', 'workspace'].map((graph_id) => ({ graph_id }));

async function agentsOf(me: () => Promise<unknown>): Promise<Agents> {
  const api = { assistants: async () => assistants, models: async () => [], me } as unknown as Api;
  const agents = new Agents(api);
  await agents.load();
  return agents;
}

describe('the agents that are offered', () => {
  it('have Team files where the caller has a workspace', async () => {
    const agents = await agentsOf(async () => ({ workspaces: [{ name: 'main' }] }));
    expect(agents.choices.map(({ name }) => name)).toContain('workspace');
  });

  it('have no Team files where there is none, or nobody can say', async () => {
    for (const me of [async () => ({ workspaces: [] }), () => Promise.reject(new Error('no storage'))]) {
      const agents = await agentsOf(me);
      expect(agents.choices.map(({ name }) => name)).toEqual(['research', 'simple', 'tutor']);
    }
  });

  it('begin with the one that the server offers first, until the person chooses', async () => {
    const own = { graph_id: 'support', metadata: { default: true } };
    const api = { assistants: async () => [...assistants, own], models: async () => [], me: async () => ({ workspaces: [] }) };
    const agents = new Agents(api as unknown as Api);
    await agents.load();
    expect(agents.chosen.name).toBe('support');
    agents.choose('tutor');
    expect(agents.chosen.name).toBe('tutor');
    expect((await agentsOf(async () => ({ workspaces: [] }))).chosen.name).toBe('simple');
  });

  it('are promised documents only if they can read them', async () => {
    const agents = await agentsOf(async () => ({ workspaces: [] }));
    expect(agents.readsDocuments('tutor')).toBe(true);
    expect(agents.readsDocuments('simple')).toBe(true);
    expect(agents.readsDocuments('research')).toBe(true);
    expect(agents.readsDocuments('workspace')).toBe(false);
  });
});
