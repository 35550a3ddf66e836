import { expect, it } from 'vitest';
import { gistOf } from './gist';

it('names a document by its title, never by its id', () => {
  const call = { name: 'read_user_file', args: { file_id: 'doc-0b9c38df01' } };
  expect(gistOf({ ...call, result: '{"file_id": "doc-0b9c38df01", "title": "An \\"essay\\".md"}' })).toBe('An "essay".md');
  expect(gistOf({ ...call, result: null })).toBe('');
  expect(gistOf({ name: 'read_file', args: { file_path: '/notes.md' } })).toBe('/notes.md');
});
