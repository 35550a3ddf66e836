import { afterEach, describe, expect, it } from 'vitest';
import { capitalized, clock, day, decimal, exact, list, moment, number, plural, seconds, size } from './format';
import { setCurrent } from './languages/current';

afterEach(() => setCurrent('en', 'en'));

describe('plural', () => {
  it('counts one thing, none and many', () => {
    expect(plural(1, 'entry', 'entries')).toBe('1 entry');
    expect(plural(0, 'entry', 'entries')).toBe('0 entries');
    expect(plural(1234, 'entry', 'entries')).toBe(`${(1234).toLocaleString()} entries`);
  });
});

describe('size', () => {
  it('takes the unit that keeps the number short', () => {
    expect([999, 1000, 1_500_000, 2_000_000_000].map(size)).toEqual(['999 B', '1.0 kB', '1.5 MB', '2.0 GB']);
  });
});

describe('exact', () => {
  it('groups digits and drops none, however many there are', () => {
    expect(exact('90071992547409930.000000000001')).toBe('90,071,992,547,409,930.000000000001');
    setCurrent('de', 'de');
    expect(exact('1234567.5')).toBe('1.234.567,5');
  });
});

describe('capitalized', () => {
  it('begins a sentence, and leaves nothing as it is', () => {
    expect(capitalized('create one')).toBe('Create one');
    expect(capitalized('')).toBe('');
  });
});

describe('a language', () => {
  const noon = new Date(2026, 2, 9, 15, 4, 5);
  const plain = (words: string) => words.replaceAll(/[\u00A0\u202F]/g, ' ');
  const all = () => [number(12_345.5), decimal(2), size(1_500_000), seconds(1.25), day(noon), moment(noon), clock(noon), list(['a', 'b', 'c'])].map(plain);

  it('decides how numbers, dates and lists are written', () => {
    setCurrent('de', 'de-AT');
    expect(all()).toEqual(['12 345,5', '2,0', '1,5 MB', '1,3 s', '09.03.2026', '09.03.2026, 15:04', '15:04:05', 'a, b und c']);
    setCurrent('es', 'es');
    expect(all()).toEqual(['12.345,5', '2,0', '1,5 MB', '1,3 s', '9 mar 2026', '9 mar 2026, 15:04', '15:04:05', 'a, b y c']);
    setCurrent('en', 'en-GB');
    expect(all()).toEqual(['12,345.5', '2.0', '1.5 MB', '1.3 s', '9 Mar 2026', '9 Mar 2026, 15:04', '15:04:05', 'a, b and c']);
  });

  it('decides which counts are one', () => {
    setCurrent('de', 'de');
    expect([plural(0, 'Datei', 'Dateien'), plural(1, 'Datei', 'Dateien'), plural(1234, 'Datei', 'Dateien')]).toEqual(['0 Dateien', '1 Datei', '1.234 Dateien']);
  });
});
