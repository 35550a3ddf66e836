/** The fields of an agent's state that no other panel shows. */
import type { Fields, Json } from '$lib/protocol/wire';

/** Shown elsewhere: in the conversation, in the plan, under Files. */
const SHOWN_ELSEWHERE: readonly string[] = ['messages', 'todos', 'files'];

export function customFields(values: Readonly<Record<string, unknown>>): Fields {
  const found = Object.entries(values).filter(([name, value]) => !SHOWN_ELSEWHERE.includes(name) && !name.startsWith('_') && value != null);
  return Object.fromEntries(found) as Record<string, Json>;
}
