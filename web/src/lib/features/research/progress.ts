/** How far a research run is: its stage, and each step of its plan. */
import type { PlanStep } from './plan/plan';
import type { Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';

export const STAGES = ['plan', 'audit', 'approve', 'read', 'write'] as const;
export type Stage = (typeof STAGES)[number];

const STAGE_OF: Record<string, Stage> = {
  started: 'plan',
  thinking: 'plan',
  auditing: 'audit',
  awaiting_approval: 'approve',
  executing: 'read',
  synthesizing: 'write',
};

export interface StepProgress {
  state: 'waiting' | 'running' | 'done' | 'failed';
  /** From 0 to 1. */
  share: number;
  note: string;
}

type Values = Record<string, unknown>;

export function isResearch(values: Values): boolean {
  const status = String(values['status'] ?? '');
  return Array.isArray(values['reasoning']) && (status in STAGE_OF || isOver(status));
}

/** The stage that is on, or how the run ended. A new question begins before the state knows of it. */
export function stageOf(values: Values, isRunning: boolean, isAsked: boolean): Stage | 'complete' | 'failed' {
  const status = String(values['status'] ?? '');
  if (isOver(status)) return isRunning && isAsked ? 'plan' : status;
  return STAGE_OF[status] ?? 'plan';
}

function isOver(status: string): status is 'complete' | 'failed' {
  return status === 'complete' || status === 'failed';
}

/** Each step's progress, from the results in the state and what the run tells while it works. */
export function progressOf(
  steps: readonly PlanStep[],
  results: unknown,
  told: readonly Json[],
): Record<string, StepProgress> {
  const known = isFields(results) ? results : {};
  return Object.fromEntries(steps.map((step) => [step.id, stepProgress(step, known[step.id], told)]));
}

function stepProgress(step: PlanStep, result: Json | undefined, told: readonly Json[]): StepProgress {
  if (isFields(result)) {
    const failed = typeof result['error'] === 'string';
    return { state: failed ? 'failed' : 'done', share: 1, note: String(result['summary'] ?? '') };
  }
  const own = told.filter(isFields).filter((one) => one['type'] === 'research_step' && one['step'] === step.id);
  if (!own.length) return { state: 'waiting', share: 0, note: '' };
  const ended = new Set(own.filter((one) => one['state'] !== 'started').map((one) => `${one['tool']} ${one['input']}`));
  const note = own.findLast((one) => one['note'])?.['note'];
  // A search is one call and the pages it may open; what is done is in the state soon after.
  return { state: 'running', share: Math.min(0.95, 0.08 + ended.size / (1 + step.pages)), note: String(note ?? '') };
}
