/** What a person said or decided, as the server marks it on the result of the call that asked them. */
import { isFields } from '$lib/protocol/fields';
import type { MessageWire } from '$lib/protocol/wire';
import type { Call, Decision, Proposal } from './view';

export type Said = Pick<Call, 'answer' | 'decisions' | 'proposal'>;

export function saidIn({ additional_kwargs: marks }: MessageWire): Said {
  return {
    answer: textOf(marks?.['answer']),
    decisions: decisionsOf(marks?.['decisions']),
    proposal: proposalOf(marks?.['proposal']),
  };
}

/** A result does not change, so its parts need not be compared. */
export function isSaid(call: Call, said: Said): boolean {
  const isOneMore = call.decisions.length !== said.decisions.length || (call.proposal === null) !== (said.proposal === null);
  return call.answer === said.answer && !isOneMore;
}

const DECISIONS: readonly unknown[] = ['approve', 'edit', 'reject'] satisfies Decision['type'][];

function decisionsOf(found: unknown): Decision[] {
  return Array.isArray(found) ? found.map(decisionOf).filter((one) => one !== null) : [];
}

function decisionOf(wire: unknown): Decision | null {
  if (!isFields(wire)) return null;
  const { type, tool_call_id: callId, name: tool, path, added, removed } = wire;
  if (typeof path !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return null;
  if (!DECISIONS.includes(type)) return null;
  const lines = typeof added === 'number' && typeof removed === 'number' ? { added, removed } : null;
  return { type: type as Decision['type'], callId, tool, path, lines };
}

const STATUSES: readonly unknown[] = ['applied', 'partly', 'refused', 'conflict'] satisfies Proposal['status'][];

function proposalOf(wire: unknown): Proposal | null {
  if (!isFields(wire) || !STATUSES.includes(wire['status'])) return null;
  return { status: wire['status'] as Proposal['status'], fileId: textOf(wire['file_id']), version: textOf(wire['version']) };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
