import { describe, expect, it } from 'vitest';
import type { AccountRow } from './core/database';
import type { Price } from './core/till';
import { approximately, fewCalls, refusalOf } from './figures';

const price: Price = { step: 50, per_1k_input: 0, per_1k_output: 0, reserved_output: 4096 };
const account = (balance: number, spent: number, status: AccountRow['status'] = 'open') =>
  ({ balance, spent, status }) as AccountRow;

describe('a low balance', () => {
  it('is one that is enough for two calls or fewer, and was used', () => {
    expect([149, 100, 50, 9].map((balance) => fewCalls(account(balance, 50), price))).toEqual([2, 2, 1, 0]);
    expect(fewCalls(account(150, 50), price)).toBeNull();
    expect(fewCalls(account(100, 0), price)).toBeNull();
    expect(fewCalls(account(9, 50, 'closing'), price)).toBeNull();
    expect(fewCalls(null, price)).toBeNull();
  });

  it('counts what a call may cost at most, where tokens are paid for', () => {
    const metered = { step: 0, per_1k_input: 1, per_1k_output: 10, reserved_output: 1000 };
    expect([35, 36].map((balance) => fewCalls(account(balance, 5), metered))).toEqual([2, null]);
  });
});

describe('what sats are worth about', () => {
  const euros = { per_sat: 0.0006, currency: 'EUR' };

  it('is a sum in the currency of the operator', () => {
    expect(approximately(1000, euros)).toBe('≈\u00a0€0.60');
    expect(approximately(1000, { per_sat: 0.1, currency: 'JPY' })).toBe('≈\u00a0¥100');
  });

  it('is less than the smallest coin, or nothing', () => {
    expect(approximately(1, euros)).toBe('<\u00a0€0.01');
    expect([approximately(0, euros), approximately(1000, null), approximately(1000, undefined)]).toEqual(['', '', '']);
  });
});

it('says why a token was refused, as the server words it', () => {
  expect(refusalOf({ code: 'spent', message: 'This token was spent.' })).toBe('This token was spent.');
  expect(refusalOf('plain')).toBe('plain');
  expect(refusalOf(undefined)).toBe('');
});
