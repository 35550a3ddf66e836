/**
 * Links that a model wrote. An address can carry words out of a conversation when it is opened, so
 * a foreign link shows its host, and one that looks as if it carried data is opened only on request.
 */
const LONG_QUERY = 32;
const LONG_LABEL = 30;
const LONG_SEGMENT = 40;
/** Words of a document in a row, and letters in them, that are not there by chance. */
const WORDS = 3;
const LETTERS = 12;

/** `made`: a model put it together, says the server. */
export type Reason = 'data' | 'words' | 'made';

/** The host of a foreign address; null for one of this page, or none. */
export function foreignHost(href: string, here = globalThis.location?.host ?? ''): string | null {
  const url = parsed(href);
  return url && /^https?:$/.test(url.protocol) && url.host !== here ? url.host : null;
}

/** Why opening this address may tell its host something; null where it does not look so. */
export function suspicion(href: string, passages: readonly string[]): Reason | null {
  const url = parsed(href);
  if (!url) return null;
  const segments = url.pathname.split('/').map(decoded);
  const isData =
    decoded(url.search + url.hash).length > LONG_QUERY ||
    url.hostname.split('.').some((label) => label.length > LONG_LABEL) ||
    segments.some((segment) => segment.length > LONG_SEGMENT && !/[-_. +,]/.test(segment));
  if (isData) return 'data';
  return sharesWords([url.hostname, ...segments, decoded(url.search + url.hash)].join(' '), passages) ? 'words' : null;
}

/** Whether an address is one of those that no model put together; punctuation at its end does not count. */
export function isKnown(href: string, known: readonly string[]): boolean {
  const wanted = comparable(href);
  return known.some((link) => comparable(link.includes('://') ? link : `https://${link}`) === wanted);
}

function comparable(href: string): string {
  const address = parsed(href)?.href ?? href;
  const letters = [...address.replace(/^https?:/, '')];
  // One letter at a time: a pattern that ends in `+$` takes quadratic time.
  const last = letters.findLastIndex((letter) => !/[\p{P}\p{S}]/u.test(letter));
  return letters.slice(0, last + 1).join('');
}

function sharesWords(address: string, passages: readonly string[]): boolean {
  const runs = new Set(runsOf(address));
  if (!runs.size) return false;
  return passages.some((passage) => runsOf(passage).some((run) => runs.has(run)));
}

function runsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const runs: string[] = [];
  for (let at = 0; at + WORDS <= words.length; at += 1) {
    const run = words.slice(at, at + WORDS);
    if (run.join('').length >= LETTERS) runs.push(run.join(' '));
  }
  return runs;
}

function parsed(href: string): URL | null {
  return URL.canParse(href) ? new URL(href) : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
