import { describe, expect, it } from 'vitest';
import { questionKey } from './questions';

describe('which asking it is', () => {
  it('is the id, where a question is asked once', () => {
    expect(questionKey({ id: 'q', payload: { type: 'clarification_request' } })).toBe('q');
    expect(questionKey({ id: 'q', payload: 'plain' })).toBe('q');
  });

  it('is another one when the file that it is bound to has changed', () => {
    const key = (version: string) => questionKey({ id: 'q', payload: { bound: { version, result: 'r' } } });
    expect(key('v1')).not.toBe(key('v2'));
    expect(key('v1')).toBe(key('v1'));
  });
});
