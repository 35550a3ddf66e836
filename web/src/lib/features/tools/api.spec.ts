import { expect, test } from 'vitest';
import { allowedTools } from './api';

test('a tool that was taken back is not allowed', () => {
  expect(allowedTools({ mcp_allowed: { files__write: 'a1', files__delete: '' } })).toEqual(['files__write']);
  expect(allowedTools({})).toEqual([]);
  expect(allowedTools({ mcp_allowed: null })).toEqual([]);
});
