import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, expect, it } from 'vitest';
import AuditView from './AuditView.svelte';
import { auditOf, planOf } from './plan';

const judged = { rule: 'prose.1', question: 'No tabloids.', decided_by: 'judgement' };

afterEach(cleanup);

function show(verdict: string, detail: Parameters<typeof auditOf>[0]) {
  render(AuditView, { audit: auditOf({ verdict, detail }), plan: planOf({}), hash: null });
}

it('a plan that only rules decided has passed the policy check', () => {
  show('approved', { policy_sha256: 'abc' });
  expect(screen.getByText('Passed the policy check')).toBeTruthy();
});

it('what the auditor allowed is shown as its judgement on a sentence', () => {
  show('approved', { judgements: [{ ...judged, allowed: true, reason: 'It reads none.' }] });
  expect(screen.queryByText('Passed the policy check')).toBeNull();
  expect(screen.getByText('Passed the rules of the policy; the auditor does not object')).toBeTruthy();
  expect(screen.getByText(/No tabloids\./).textContent).toContain('No tabloids. allowed: It reads none.');
});

it('an objection names the sentence, and is not called a rule', () => {
  show('rejected', { violations: [{ ...judged, message: 'It reads one.' }] });
  expect(screen.getByText('auditor’s judgement on: No tabloids.')).toBeTruthy();
  expect(screen.queryByText(/^rule/)).toBeNull();
});
