/** A language is written over the English words before the page is drawn: nothing may have read them by then. */
import { expect, it, vi } from 'vitest';

const { kept, track } = vi.hoisted(() => {
  const kept: string[] = [];

  /** Objects may be passed on, since words are changed inside them; a word that is read stays English. */
  function track<T extends object>(id: string, text: T): T {
    return new Proxy(text, {
      get(target, key, receiver) {
        const value: unknown = Reflect.get(target, key, receiver);
        if (typeof key === 'symbol') return value;
        if (typeof value === 'object' && value !== null) return track(`${id}.${key}`, value);
        kept.push(`${id}.${key}`);
        return value;
      },
    });
  }
  return { kept, track };
});

vi.mock('$lib/languages/texts', () => ({ inLanguage: track }));

it('no module reads words while the page is loaded', async () => {
  expect(track('a', { b: { c: 'word' } }).b.c).toBe('word');
  expect(kept.splice(0)).toEqual(['a.b.c']);
  await import('../src/App.svelte');
  await import('../src/lib/extensions/installed');
  expect(kept).toEqual([]);
}, 60_000);
