/** The fields of an agent's state that no other panel shows. */
import type { Fields, Json } from '$lib/protocol/wire';

/** Shown elsewhere: in the conversation, in the plan, under Files. */
const SHOWN_ELSEWHERE: readonly string[] = ['messages', 'todos', 'files'];

/** What the harness keeps for itself, in the state of any agent. */
const OF_THE_HARNESS: readonly string[] = [
  'clarify',
  'disclosures',
  'file_decisions',
  'file_versions',
  'flow',
  'flow_calls',
  'flow_revoked',
  'hitl_edited_tool_calls',
  'jump_to',
  'mcp_found',
  'mcp_free',
  'memory_contents',
  'outside_text',
  'payment_balance_sats',
  'payment_declined_run',
  'payment_spent_sats',
  'payment_status',
  'run_id',
  'skills_load_errors',
  'skills_metadata',
  'usage',
  'workspace_pin',
];
const HIDDEN = new Set([...SHOWN_ELSEWHERE, ...OF_THE_HARNESS]);

export function customFields(values: Readonly<Record<string, unknown>>): Fields {
  const found = Object.entries(values).filter(([name, value]) => !HIDDEN.has(name) && !name.startsWith('_') && value != null);
  return Object.fromEntries(found) as Record<string, Json>;
}
