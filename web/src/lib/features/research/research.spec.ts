import { describe, expect, it } from 'vitest';
import { auditOf, newStep, plainPlan, planOf, planRequestOf } from './plan/plan';
import type { Fields } from '$lib/protocol/wire';
import { piecesOf } from './passages';
import { progressOf, stageOf } from './progress';
import { fileNameOf } from './export';
import { answerTextOf, noteOf, reportCountOf } from './follow-up';
import type { Claim, Quote, Report } from './report';
import { answerOf, findingsOf, followUpOf, referencesOf, sourcesOf, unsupportedOf } from './report';
import { judgementOf } from './text';

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
      violations: [{ rule: 'prose.1', message: 'One-sided.', step: 'a', decided_by: 'judgement', question: 'Be fair.' }],
      suggestions: [{ rule: 'limits.steps', message: 'Fewer steps.' }],
      judgements: [{ rule: 'prose.1', allowed: false, reason: 'Only one side.', question: 'Be fair.' }],
      policy_sha256: 'abc',
    };
    const audit = auditOf({ verdict: 'rejected', detail });
    const judged = { rule: 'prose.1', question: 'Be fair.' };
    expect(audit.against).toEqual([{ ...judged, words: 'One-sided.', step: 'a', by: 'judgement' }]);
    expect(audit.better[0]).toMatchObject({ words: 'Fewer steps.', by: 'rule' });
    expect(audit.judged).toEqual([{ ...judged, isAllowed: false, reason: 'Only one side.' }]);
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

describe('a report', () => {
  const claim = (id: string, status: Claim['status'], ...quotes: string[]): Claim => ({ id, text: id, status, quotes, findings: [], independent: 1 });
  const report = (...claims: Claim[]) =>
    ({
      sections: [
        { heading: 'Findings', kind: 'findings', claims },
        { heading: 'Method', kind: 'remarks', claims: [claim('c99', 'supported')] },
      ],
      quotes: ['b1', 'a1', 'a2'].map((id) => ({ id, snapshot: id[0], start: 0, end: 1, text: id })),
      sources: ['a', 'b'].map((id, at) => ({ number: at + 1, snapshot: { id }, flags: [] })),
    }) as unknown as Report;
  const ids = (claims: Claim[]) => claims.map(({ id }) => id);

  it('answers with supported claims only, or with corrected ones, and with few', () => {
    expect(ids(answerOf(report(claim('c1', 'unsupported'), claim('c2', 'repaired'), claim('c3', 'supported'))))).toEqual(['c3']);
    expect(ids(answerOf(report(claim('c1', 'unsupported'), claim('c2', 'repaired'))))).toEqual(['c2']);
    expect(answerOf(report(claim('c1', 'unsupported')))).toEqual([]);
    expect(answerOf(report(...[1, 2, 3, 4].map((n) => claim(`c${n}`, 'supported'))))).toHaveLength(3);
  });

  it('keeps what is not supported apart', () => {
    const one = report(claim('c1', 'unsupported'), claim('c2', 'supported'));
    expect(findingsOf(one).map(({ claims }) => ids(claims))).toEqual([['c2'], ['c99']]);
    expect(ids(unsupportedOf(one))).toEqual(['c1']);
    expect(findingsOf(report(claim('c1', 'unsupported'))).map(({ heading }) => heading)).toEqual(['Method']);
  });

  it('names each source of a claim once, in order', () => {
    const one = report(claim('c1', 'supported', 'b1', 'a2', 'a1'));
    expect(referencesOf(one.sections[0]!.claims[0]!, one).map(({ source, quote }) => [source.number, quote.id])).toEqual([
      [1, 'a1'],
      [2, 'b1'],
    ]);
  });

  it('says what a model judged, and never that a claim follows where nothing was judged', () => {
    expect(judgementOf({ follows: true, reason: '' })).toBe('Judged by a model: follows from its quotes');
    expect(judgementOf({ follows: false, reason: 'too much' })).toBe('Judged by a model: does not follow from its quotes: too much');
    for (const none of [null, undefined, {} as { follows: boolean; reason: string }]) expect(judgementOf(none)).toBe('Not judged');
  });

  it('is saved under the name that the server gives it', () => {
    expect(fileNameOf("attachment; filename=\"report.md\"; filename*=UTF-8''wie-tief-%C3%BCber.md")).toBe('wie-tief-über.md');
    expect(fileNameOf("attachment; filename*=UTF-8''%E0%A4%A")).toBeNull();
    expect(fileNameOf(null)).toBeNull();
  });
});

describe('a follow-up', () => {
  const content = { sections: [], quotes: [{ id: 'q', snapshot: 's' }], sources: [{ number: 1, snapshot: { id: 's' }, flags: [] }] };
  const values = { answer: { text: 'Beebe.', content }, sources: [{ id: 's' }, { id: 't' }], history: { reports: ['a', 'b'] } };

  it('has its quotes and sources where a report has them', () => {
    expect(followUpOf(values)?.quotes).toHaveLength(1);
    expect(answerTextOf(values)).toBe('Beebe.');
    expect(sourcesOf(values).map((source) => [source.snapshot.id, source.number])).toEqual([['s', 1], ['t', 0]]);
  });

  it('takes nothing for an answer that is none', () => {
    for (const answer of [null, 'Beebe.', { content: { quotes: [] } }]) expect(followUpOf({ answer })).toBeNull();
    expect(answerTextOf({})).toBeNull();
    expect(reportCountOf({ history: null })).toBe(0);
    expect(reportCountOf(values)).toBe(2);
  });

  it('marks the steps that an extension adds, and says how the message was understood', () => {
    const plan = { steps: [{ id: 'old' }, { id: 'new' }] };
    const request = planRequestOf({ plan, done: ['old'], difference: null, follow_up: { note: 'An extension.' } });
    expect(request.grows).toEqual(['new']);
    expect(request.note).toBe('An extension.');
    expect(noteOf(null)).toBe('');
  });
});
