import { describe, expect, it } from 'vitest';
import { startersFor } from './starters';

const AGENTS = ['research', 'simple', 'tutor', 'workspace'] as const;
const others = (agent: string) => AGENTS.filter((name) => name !== agent);
const wordsFor = (...asked: Parameters<typeof startersFor>) => startersFor(...asked).map(({ words }) => words);

describe('the first words that are offered', () => {
  it.each(AGENTS.flatMap((agent) => [true, false].map((isDemo) => [agent, isDemo] as const)))('are three for %s (demo: %s)', (agent, isDemo) => {
    const titles = startersFor(agent, AGENTS, { isDemo }).map(({ title }) => title);
    expect(new Set(titles).size).toBe(3);
  });

  it('can be answered by the sample pages where no model is set up', () => {
    for (const one of wordsFor('research', AGENTS, { isDemo: true })) expect(one).toContain('bathysphere');
  });

  it('are about the world where a model answers', () => {
    for (const one of wordsFor('research', AGENTS, { isDemo: false })) expect(one).not.toContain('bathysphere');
  });

  it('are for the agent itself where a model answers', () => {
    for (const agent of AGENTS) {
      expect(startersFor(agent, others(agent), { isDemo: false }).map((starter) => starter.agent)).toEqual([agent, agent, agent]);
    }
  });

  it('show what else there is where the tour answers, of agents that are offered', () => {
    const agentsOf = (offered: readonly string[]) => startersFor('simple', offered, { isDemo: true }).map(({ agent }) => agent);
    expect(agentsOf(['simple', 'tutor', 'research'])).toEqual(['simple', 'tutor', 'research']);
    expect(agentsOf(['simple'])).toEqual(['simple']);
  });

  it('name a document that there is, for agents that read', () => {
    const setting = { isDemo: false, document: '@essay' };
    for (const agent of ['research', 'simple', 'tutor']) expect(wordsFor(agent, AGENTS, setting)[0]).toContain('@essay');
    expect(wordsFor('workspace', AGENTS, setting).join()).not.toContain('@essay');
    expect(wordsFor('simple', AGENTS, { isDemo: false }).join()).not.toContain('@');
  });

  it('are none for an agent that we do not know', () => {
    expect(startersFor('support', AGENTS, { isDemo: true })).toEqual([]);
  });
});
