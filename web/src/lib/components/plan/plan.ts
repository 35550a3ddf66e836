/** A research plan as it is shown and edited. */
import type { Fields, Json } from '$lib/protocol/wire';
import { isFields } from '$lib/stream/settle';

export interface PlanStep {
  id: string;
  tool: string;
  input: string;
  why: string;
  domains: string[];
  after: string[];
}

export interface Plan {
  objective: string;
  steps: PlanStep[];
  tokens: number;
}

export interface PlanRequest {
  question: string;
  plan: Fields;
  hash: string | null;
  decisions: string[];
  problems: string[];
  difference: string[];
}

export function planOf(value: unknown): Plan {
  const plan = isFields(value) ? value : {};
  const steps = Array.isArray(plan['steps']) ? plan['steps'].filter(isFields) : [];
  return {
    objective: String(plan['objective'] ?? ''),
    tokens: Number(plan['estimated_token_budget'] ?? 0),
    steps: steps.map((step, index) => ({
      id: String(step['id'] ?? index + 1),
      tool: String(step['tool'] ?? ''),
      input: String(step['input'] ?? ''),
      why: String(step['rationale'] ?? ''),
      domains: texts(step['domains']),
      after: texts(step['depends_on']),
    })),
  };
}

export function planRequestOf(payload: Json): PlanRequest {
  const fields = isFields(payload) ? payload : {};
  const audit = [fields['audit_result'], fields['audit']].find(isFields) ?? {};
  const decisions = texts(fields['decisions']);
  return {
    question: String(fields['question'] ?? ''),
    plan: isFields(fields['plan']) ? fields['plan'] : {},
    hash: typeof fields['plan_hash'] === 'string' ? fields['plan_hash'] : null,
    decisions: decisions.length ? decisions : ['approve', 'edit', 'reject'],
    problems: [...texts(audit['policy_violations']), ...texts(audit['suggestions'])],
    difference: (Array.isArray(fields['difference']) ? fields['difference'] : []).map((one) =>
      isFields(one) ? [one['tool'], one['input'], one['why']].filter(Boolean).join(': ') : String(one),
    ),
  };
}

/** The plan as the server reads it; what is not edited here stays as it was. */
export function plainPlan(plan: Plan, was: Fields): Fields {
  const old = Array.isArray(was['steps']) ? was['steps'].filter(isFields) : [];
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
      depends_on: step.after.filter((id) => kept.has(id)),
    })),
  };
}

function texts(value: Json | undefined): string[] {
  if (!Array.isArray(value)) return [];
  return value.map((one) => (isFields(one) ? String(one['message'] ?? one['rule'] ?? JSON.stringify(one)) : String(one)));
}
