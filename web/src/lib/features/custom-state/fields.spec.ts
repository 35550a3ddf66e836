import { describe, expect, it } from 'vitest';
import { customFields } from './fields';

describe('the custom fields of a state', () => {
  it('are those that no other panel shows', () => {
    const values = { messages: [], todos: [], files: {}, notes: ['deep'], tone: 'plain', _hidden: 1, empty: null };
    expect(customFields(values)).toEqual({ notes: ['deep'], tone: 'plain' });
  });
});
