/** The tutor's moves, as the thread's state has them: docs/tutor.md. */
import { isFields } from '$lib/protocol/fields';

export interface Move {
  name: string;
  why: string;
  by: string;
  node: string;
  rung: number;
  fits: boolean;
}

/** The move that a message words; null for other messages. */
export function moveOf(values: Record<string, unknown>, messageId: string): Move | null {
  const moves = Array.isArray(values['moves']) ? values['moves'].filter(isFields) : [];
  const move = moves.find((other) => other['message'] === messageId);
  if (!move) return null;
  return {
    name: String(move['move']),
    why: String(move['why'] ?? ''),
    by: String(move['by'] ?? ''),
    node: String(move['node'] ?? ''),
    rung: Number(move['rung'] ?? 0),
    fits: move['fits'] !== false,
  };
}
