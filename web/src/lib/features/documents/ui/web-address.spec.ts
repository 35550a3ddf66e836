import { expect, it } from 'vitest';
import { webAddress } from './web-address';

it.each([
  ['example.org/reef', 'https://example.org/reef'],
  [' https://example.org ', 'https://example.org/'],
  ['http://example.org:8080/a', 'http://example.org:8080/a'],
  ['example.org:8080/a', 'https://example.org:8080/a'],
  ['localhost:8000', 'https://localhost:8000/'],
  ['', null],
  ['reef', null],
  ['two words', null],
  ['javascript:alert(1)', null],
  ['ftp://example.org', null],
])('%s is read as %s', (typed, address) => {
  expect(webAddress(typed)?.href ?? null).toBe(address);
});
