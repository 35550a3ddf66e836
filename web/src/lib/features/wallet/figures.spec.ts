import { describe, expect, it } from 'vitest';
import { costOf, creditedOf, refusalOf } from './figures';

describe('what a budget is worth after the fee of the mint', () => {
  it('loses the fee of each coin, rounded up', () => {
    expect([0, 1, 64, 100, 255].map((sats) => creditedOf(sats, 100))).toEqual([0, 0, 63, 99, 254]);
    expect(creditedOf(2047, 100)).toBe(2045);
    expect(creditedOf(100, 0)).toBe(100);
  });

  it('is enough for what was promised', () => {
    for (let wanted = 1; wanted <= 2100; wanted += 1) {
      expect(creditedOf(costOf(wanted, 100), 100)).toBeGreaterThanOrEqual(wanted);
      expect(creditedOf(costOf(wanted, 100) - 1, 100)).toBeLessThan(wanted);
    }
  });
});

it('says why a token was refused, as the server words it', () => {
  expect(refusalOf({ code: 'spent', message: 'This token was spent.' })).toBe('This token was spent.');
  expect(refusalOf('plain')).toBe('plain');
  expect(refusalOf(undefined)).toBe('');
});
