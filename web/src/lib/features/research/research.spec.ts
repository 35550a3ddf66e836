import { describe, expect, it } from 'vitest';
import { auditOf, newStep, plainPlan, planOf, planRequestOf } from './plan/plan';
import type { Fields } from '$lib/protocol/wire';
import { piecesOf } from './passages';
import { progressOf, stageOf } from './progress';
import type { Quote } from './report';
import { sourcesOf } from './report';

const bytes = (text: string) => new TextEncoder().encode(text).length;
const quoteOf = (text: string, words: string, id = words): Quote => {
  const start = bytes(text.slice(0, text.indexOf(words)));
  return { id, snapshot: 's', start, end: start + bytes(words), text: words };
};

describe('a quote in its source', () => {
  const text = '\uFEFFDer Tauchgang – “tief” 🐟 war 923 m.\nEnde.';

  it('is marked by its bytes, whatever letters stand before it', () => {
    const pieces = piecesOf(text, [quoteOf(text, '923 m')], '923 m');
    expect(pieces.map((piece) => piece.text).join('')).toBe(text);
    expect(pieces.filter((piece) => piece.quote !== null)).toEqual([{ text: '923 m', quote: '923 m' }]);
  });

  it('wins over one that overlaps it, when it is the one that is looked at', () => {
    const quotes = [quoteOf(text, '“tief” 🐟 war'), quoteOf(text, '🐟 war 923')];
    const marked = (chosen: string | null) =>
      piecesOf(text, quotes, chosen).filter((piece) => piece.quote !== null).map((piece) => piece.text);
    expect(marked(null)).toEqual(['“tief” 🐟 war']);
    expect(marked('🐟 war 923')).toEqual(['🐟 war 923']);
  });
});

describe('progress', () => {
  const plan = planOf({ steps: [{ id: 'a', tool: 'web_search', input: 'x', pages: 3 }, { id: 'b', tool: 'fetch_page', input: 'y' }] });
  const told = (step: string, state: string, input: string, note = '') => ({ type: 'research_step', step, tool: 't', state, input, note });

  it('counts what a step has done until its result is there', () => {
    const going = progressOf(plan.steps, {}, [told('a', 'started', 'x'), told('a', 'done', 'x', '5 results'), told('a', 'done', 'page')]);
    expect(going['a']).toMatchObject({ state: 'running', note: '5 results' });
    expect(going['a']!.share).toBeCloseTo(0.58);
    expect(going['b']).toMatchObject({ state: 'waiting', share: 0 });
    const done = progressOf(plan.steps, { a: { summary: '3 sources read' }, b: { error: 'gone', summary: 'failed: gone' } }, []);
    expect(done['a']).toEqual({ state: 'done', share: 1, note: '3 sources read' });
    expect(done['b']!.state).toBe('failed');
  });

  it('starts over with a new question, though the state still has the old report', () => {
    expect(stageOf({ status: 'complete' }, true, true)).toBe('plan');
    expect(stageOf({ status: 'complete' }, false, false)).toBe('complete');
    expect(stageOf({ status: 'failed' }, false, true)).toBe('failed');
    expect(stageOf({ status: 'executing' }, true, true)).toBe('read');
  });
});

describe('a plan', () => {
  const was: Fields = { objective: 'o', revision: 2, steps: [{ id: 'a', tool: 'web_search', input: 'x', calls: 2, domains: ['*'], pages: 3, depends_on: [] }, { id: 'b', tool: 'fetch_page', input: 'y', depends_on: ['a'] }] };

  it('keeps what was not edited, and forgets steps that are gone', () => {
    const plan = planOf(was);
    const [search, page] = plan.steps;
    const edited = plainPlan({ ...plan, steps: [{ ...page!, input: 'z' }] }, was);
    expect(edited).toMatchObject({ revision: 2, steps: [{ id: 'b', input: 'z', depends_on: [] }] });
    expect(plainPlan({ ...plan, steps: [{ ...search!, domains: ['sea.example'] }] }, was)['steps']).toMatchObject([
      { calls: 2, domains: ['sea.example'], pages: 3 },
    ]);
  });

  it('takes a step of the person’s own, with an id that nobody has', () => {
    const plan = planOf({ steps: [{ id: 'own-2', tool: 'web_search', domains: ['*'], pages: 3 }] });
    expect(newStep(plan, 'web_search')).toMatchObject({ id: 'own-3', tool: 'web_search', domains: ['*'], pages: 3 });
  });

  it('comes with its audit: which rule or judgement, of which step', () => {
    const detail = {
      violations: [{ rule: 'judge.fair', message: 'One-sided.', step: 'a', decided_by: 'judgement' }],
      suggestions: [{ rule: 'limits.steps', message: 'Fewer steps.' }],
      judgements: [{ rule: 'judge.fair', allowed: false, reason: 'Only one side.' }],
      policy_sha256: 'abc',
    };
    const audit = auditOf({ verdict: 'rejected', detail });
    expect(audit.against).toEqual([{ words: 'One-sided.', rule: 'judge.fair', step: 'a', by: 'judgement' }]);
    expect(audit.better[0]).toMatchObject({ words: 'Fewer steps.', by: 'rule' });
    expect(audit.judged).toEqual([{ rule: 'judge.fair', isAllowed: false, reason: 'Only one side.' }]);
    expect(auditOf({ policy_violations: ['No.'] }).against[0]!.words).toBe('No.');
    expect(planRequestOf({ difference: [{ id: 'more-1' }] }).grows).toEqual(['more-1']);
  });
});

it('sources that nothing was quoted from come after those of the report', () => {
  const info = (id: string) => ({ id, final_url: '', origin: 'web', title: id });
  const report = { sections: [], quotes: [], sources: [{ number: 1, snapshot: info('b'), flags: [] }] };
  const found = sourcesOf({ report, sources: [info('a'), info('b')] });
  expect(found.map((source) => [source.number, source.snapshot.id])).toEqual([[1, 'b'], [0, 'a']]);
});
