/** An agent's list of things to do, as its state has it. */
import { isFields } from '$lib/protocol/fields';

export interface Todo {
  words: string;
  status: 'pending' | 'in_progress' | 'completed';
}

export function todosOf(value: unknown): Todo[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isFields).map((todo) => {
    const status = todo['status'];
    return {
      words: String(todo['content'] ?? ''),
      status: status === 'completed' || status === 'in_progress' ? status : 'pending',
    };
  });
}
