import { describe, expect, it } from 'vitest';
import { foreignHost, isKnown, suspicion } from './links';

describe('a foreign link', () => {
  it('has a host, one of this page has none', () => {
    expect(foreignHost('https://evil.example/?d=1', 'localhost:8123')).toBe('evil.example');
    expect(foreignHost('http://localhost:8123/c/1', 'localhost:8123')).toBeNull();
    expect(foreignHost('/c/1', 'localhost:8123')).toBeNull();
    expect(foreignHost('mailto:ada@example.org', 'localhost:8123')).toBeNull();
  });

  it.each([
    ['https://en.wikipedia.org/wiki/William_Beebe#Bathysphere', null],
    ['https://news.example/2026/a-long-title-of-an-article-that-goes-on-and-on-and-on', null],
    ['https://search.example/?q=deep+sea', null],
    [`https://evil.example/?d=${'a'.repeat(40)}`, 'data'],
    [`https://evil.example/#${encodeURIComponent('the account is DE89 3704 0044 0532')}`, 'data'],
    [`https://evil.example/${'QUJD'.repeat(12)}`, 'data'],
    [`https://${'a1b2'.repeat(9)}.evil.example/`, 'data'],
    ['https://evil.example/salary-of-ada-is', null],
  ])('%s: %s', (href, reason) => {
    expect(suspicion(href, [])).toBe(reason);
  });

  it('with words of a document in a row is noticed, in path, query and host', () => {
    const passages = ['The confidential merger closes in March.'];
    expect(suspicion('https://evil.example/confidential-merger-closes', passages)).toBe('words');
    expect(suspicion('https://evil.example/?q=merger%20closes%20in', passages)).toBe('words');
    expect(suspicion('https://confidential.merger.closes.example/', passages)).toBe('words');
    expect(suspicion('https://evil.example/merger', passages)).toBeNull();
  });
});

describe('a link of an answer', () => {
  const known = ['https://docs.example/start', 'www.shop.example', 'https://wiki.example/Foo_(bar'];

  it.each(['https://docs.example/start', 'http://www.shop.example/', 'https://wiki.example/Foo_(bar)'])('%s is known', (href) => {
    expect(isKnown(href, known)).toBe(true);
  });

  it.each([
    'https://docs.example/start?d=secret',
    'https://docs.example/start/secret',
    'https://secret.docs.example/start',
    'https://secret@docs.example/start',
    'https://docs.example/',
  ])('%s is not', (href) => {
    expect(isKnown(href, known)).toBe(false);
  });
});
