/** A research plan as it is shown and edited. */
import type { Fields, Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import { noteOf } from '../follow-up';

export interface PlanStep {
  id: string;
  tool: string;
  input: string;
  why: string;
  domains: string[];
  pages: number;
  after: string[];
}

export interface Plan {
  objective: string;
  steps: PlanStep[];
  tokens: number;
}

/** What is against a plan, or would help; `by` says whether a rule or a judgement found it, and `question` what was judged. */
export interface Remark {
  words: string;
  rule: string;
  question: string;
  step: string | null;
  by: 'rule' | 'judgement';
}

export interface Judged {
  rule: string;
  question: string;
  isAllowed: boolean;
  reason: string;
}

export interface Audit {
  verdict: string;
  against: Remark[];
  better: Remark[];
  judged: Judged[];
  policy: string;
}

export interface PlanRequest {
  question: string;
  plan: Fields;
  hash: string | null;
  decisions: string[];
  audit: Audit;
  /** Ids of the steps that the approved plan, or the plan of the report that is extended, does not have. */
  grows: string[];
  /** How a follow-up was understood. */
  note: string;
}

export const SEARCH = 'web_search';

export function planOf(value: unknown): Plan {
  const plan = isFields(value) ? value : {};
  return {
    objective: String(plan['objective'] ?? ''),
    tokens: Number(plan['estimated_token_budget'] ?? 0),
    steps: list(plan['steps']).map((step, index) => ({
      id: String(step['id'] ?? index + 1),
      tool: String(step['tool'] ?? ''),
      input: String(step['input'] ?? ''),
      why: String(step['rationale'] ?? ''),
      domains: texts(step['domains']),
      pages: Number(step['pages'] ?? 0),
      after: texts(step['depends_on']),
    })),
  };
}

export function planRequestOf(payload: Json): PlanRequest {
  const fields = isFields(payload) ? payload : {};
  const decisions = texts(fields['decisions']);
  return {
    question: String(fields['question'] ?? ''),
    plan: isFields(fields['plan']) ? fields['plan'] : {},
    hash: typeof fields['plan_hash'] === 'string' ? fields['plan_hash'] : null,
    decisions: decisions.length ? decisions : ['approve', 'edit', 'reject'],
    audit: auditOf([fields['audit_result'], fields['audit']].find(isFields) ?? {}),
    grows: newSteps(fields),
    note: noteOf(fields['follow_up']),
  };
}

/** The audit as it was decided, or, where only its words are there, in those. */
export function auditOf(audit: Fields): Audit {
  const detail = isFields(audit['detail']) ? audit['detail'] : {};
  const remarks = (part: string, words: Json | undefined): Remark[] =>
    Array.isArray(detail[part]) ? list(detail[part]).map(remarkOf) : texts(words).map((one) => remarkOf({ message: one }));
  return {
    verdict: String(audit['verdict'] ?? ''),
    against: remarks('violations', audit['policy_violations']),
    better: remarks('suggestions', audit['suggestions']),
    judged: list(detail['judgements']).map((one) => ({
      rule: String(one['rule'] ?? ''),
      question: String(one['question'] ?? ''),
      isAllowed: one['allowed'] === true,
      reason: String(one['reason'] ?? ''),
    })),
    policy: String(detail['policy_sha256'] ?? ''),
  };
}

/** The plan as the server reads it; what is not edited here stays as it was. */
export function plainPlan(plan: Plan, was: Fields): Fields {
  const old = list(was['steps']);
  const kept = new Set(plan.steps.map((step) => step.id));
  return {
    ...was,
    objective: plan.objective,
    steps: plan.steps.map((step) => ({
      ...(old.find((other) => other['id'] === step.id) ?? {}),
      id: step.id,
      tool: step.tool,
      input: step.input,
      rationale: step.why,
      ...(step.tool === SEARCH ? { domains: step.domains, pages: step.pages } : {}),
      depends_on: step.after.filter((id) => kept.has(id)),
    })),
  };
}

/** A step of the person's own, with a tool that the plan has already. */
export function newStep(plan: Plan, tool: string): PlanStep {
  const taken = new Set(plan.steps.map((step) => step.id));
  const like = plan.steps.find((step) => step.tool === tool);
  let number = plan.steps.length + 1;
  while (taken.has(`own-${number}`)) number += 1;
  return { id: `own-${number}`, tool, input: '', why: '', domains: like?.domains ?? [], pages: like?.pages ?? 0, after: [] };
}

function remarkOf(one: Fields): Remark {
  return {
    words: String(one['message'] ?? ''),
    rule: String(one['rule'] ?? ''),
    question: String(one['question'] ?? ''),
    step: typeof one['step'] === 'string' ? one['step'] : null,
    by: one['decided_by'] === 'judgement' ? 'judgement' : 'rule',
  };
}

function newSteps(fields: Fields): string[] {
  const done = new Set(texts(fields['done']));
  if (!done.size) return list(fields['difference']).map((step) => String(step['id'] ?? ''));
  return planOf(fields['plan']).steps.map((step) => step.id).filter((id) => !done.has(id));
}

function list(value: Json | undefined): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

function texts(value: Json | undefined): string[] {
  if (!Array.isArray(value)) return [];
  return value.map((one) => (isFields(one) ? String(one['message'] ?? one['rule'] ?? JSON.stringify(one)) : String(one)));
}
