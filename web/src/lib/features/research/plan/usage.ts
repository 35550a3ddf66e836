/** What a run has used, with all its agents together: docs/limits.md says what is counted. */
import { isFields } from '$lib/protocol/fields';

export interface Usage {
  modelCalls: number;
  toolCalls: number;
  tokens: number;
  seconds: number;
  /** The limit that ended the run. */
  stopped: string | null;
  /** What was paid, where payment is on. */
  sats: number | null;
}

export function usageOf(values: Record<string, unknown>): Usage | null {
  const usage = values['usage'];
  if (!isFields(usage) || !isFields(usage['by'])) return null;
  const sums = [0, 0, 0];
  for (const counts of Object.values(usage['by'])) {
    if (Array.isArray(counts)) counts.forEach((count, index) => (sums[index] = (sums[index] ?? 0) + Number(count)));
  }
  const stopped = isFields(usage['stopped']) ? String(usage['stopped']['limit'] ?? '') : null;
  return {
    modelCalls: sums[0]!,
    toolCalls: sums[1]!,
    tokens: sums[2]!,
    seconds: Number(usage['seconds'] ?? 0),
    stopped,
    sats: satsOf(values['payment_spent_sats']),
  };
}

function satsOf(spent: unknown): number | null {
  return typeof spent === 'number' ? spent : null;
}
