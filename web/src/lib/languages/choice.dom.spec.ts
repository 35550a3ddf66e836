import { afterEach, expect, it } from 'vitest';
import { chosenLanguage, localeOf, storedLanguage, storeLanguage } from './choice';

afterEach(() => storeLanguage(null));

it('takes the first language of the browser that there is', () => {
  expect(chosenLanguage(['fr-CA', 'de-AT', 'en'])).toBe('de');
  expect(chosenLanguage(['fr', 'ja'])).toBe('en');
  expect(chosenLanguage(['constructor', 'ES-mx'])).toBe('es');
});

it('takes what was chosen before that, until it is taken back', () => {
  storeLanguage('es');
  expect(chosenLanguage(['de'])).toBe('es');
  storeLanguage(null);
  expect([storedLanguage(), chosenLanguage(['de'])]).toEqual([null, 'de']);
});

it('writes dates and numbers as the reader’s region does, where it speaks the language', () => {
  expect(localeOf('en', ['de-AT', 'en-GB', 'en-US'])).toBe('en-GB');
  expect(localeOf('es', ['de-AT', 'en-GB'])).toBe('es');
});
