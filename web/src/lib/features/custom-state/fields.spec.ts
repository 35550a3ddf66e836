import { describe, expect, it } from 'vitest';
import { customFields } from './fields';

describe('the custom fields of a state', () => {
  it('are those that neither another panel shows nor the harness keeps for itself', () => {
    const values = { messages: [], todos: [], files: {}, flow: { said: {} }, run_id: 'a', notes: ['deep'], tone: 'plain', _hidden: 1, empty: null };
    expect(customFields(values)).toEqual({ notes: ['deep'], tone: 'plain' });
  });
});
