import { describe, expect, it } from 'vitest';
import type { Fields } from '$lib/protocol/wire';
import { answerOf, clarifyOf } from '$lib/stream/clarification';
import { decisionsOf, mayAlways, mayTrust, fieldsOf, readField, type FormField } from './schema';

const DIVE: Fields = {
  $defs: { Crew: { enum: ['one', 'two'], type: 'string' } },
  properties: {
    depth: { type: 'integer', title: 'Depth', description: 'How many metres.' },
    crew: { $ref: '#/$defs/Crew', default: 'two' },
    is_ready: { type: 'boolean', default: false },
    note: { anyOf: [{ type: 'string', maxLength: 4000 }, { type: 'null' }] },
    sites: { type: 'array', items: { type: 'string' } },
    lights: { type: 'array', items: { enum: ['red', 'white'] } },
    extra: { type: 'object' },
  },
  required: ['depth'],
};

describe('a form from a schema', () => {
  it('has a field of the right kind for each property', () => {
    const fields = fieldsOf(DIVE)!;
    expect(fields.map(({ name, kind, isRequired }) => [name, kind, isRequired])).toEqual([
      ['depth', 'whole', true],
      ['crew', 'choice', false],
      ['is_ready', 'yesno', false],
      ['note', 'long', false],
      ['sites', 'list', false],
      ['lights', 'choices', false],
      ['extra', 'json', false],
    ]);
    expect(fields[1]).toMatchObject({ options: ['one', 'two'], initial: 'two' });
  });

  it('is none where the schema is no object', () => {
    expect(fieldsOf({ type: 'string' })).toBeNull();
    expect(fieldsOf(null)).toBeNull();
  });

  it('reads what was typed as the schema wants it', () => {
    const field = (kind: string) => ({ kind, label: 'Depth' }) as FormField;
    expect(readField(field('whole'), '42')).toBe(42);
    expect(readField(field('list'), ' a \n\nb')).toEqual(['a', 'b']);
    expect(readField(field('json'), '{"a":1}')).toEqual({ a: 1 });
    expect(() => readField(field('number'), 'deep')).toThrow('Depth');
  });

  it('knows the decisions that are allowed', () => {
    const schema = {
      $defs: { A: { properties: { type: { const: 'approve' } } }, R: { properties: { type: { const: 'reject' } } } },
      oneOf: [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/R' }],
    };
    expect(decisionsOf(schema)).toEqual(['approve', 'reject']);
    expect(decisionsOf(null)).toEqual([]);
  });
});

describe('a clarification', () => {
  it('in words is answered with words', () => {
    const request = clarifyOf({ question: 'Which?' });
    expect(answerOf(request, [], ' ')).toBeNull();
    expect(answerOf(request, [], ' The fin ')).toEqual({ response: 'The fin' });
  });

  it('with options is answered with what was chosen, and words where they are allowed', () => {
    const options = [{ id: 'a', label: 'A' }, { id: 'b', label: 'B' }];
    const request = clarifyOf({ question: 'Which?', options, allow_freeform: true });
    expect(request.hasWords).toBe(true);
    expect(answerOf(request, [], '')).toBeNull();
    expect(answerOf(request, ['a'], '')).toEqual({ selected: ['a'] });
    expect(answerOf(request, [], 'neither')).toEqual({ selected: [], freeform: 'neither' });
    expect(clarifyOf({ question: 'Which?', options }).hasWords).toBe(false);
  });
});

it('an approval that may hold for the conversation says so in its schema', () => {
  const approve = { type: 'object', properties: { type: { const: 'approve' }, always: { type: 'boolean' } } };
  const reject = { type: 'object', properties: { type: { const: 'reject' } } };
  const schema = { oneOf: [{ $ref: '#/$defs/Approve' }, { $ref: '#/$defs/Reject' }], $defs: { Approve: approve, Reject: reject } };
  expect(decisionsOf(schema)).toEqual(['approve', 'reject']);
  expect(mayAlways(schema)).toBe(true);
  expect(mayAlways({ oneOf: [reject] })).toBe(false);
  expect(mayAlways(null)).toBe(false);
  expect(mayTrust(schema)).toBe(false);
  expect(mayTrust({ oneOf: [{ properties: { type: { const: 'approve' }, trust: { type: 'array' } } }] })).toBe(true);
});
