import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Layout } from './layout.svelte';

let width = 1360;
const layouts = () => new Layout();
/** A visit, and the conversation that is shown. */
function visit({ isNew = true } = {}): Layout {
  const layout = layouts();
  layout.settle({ isNew });
  return layout;
}

beforeEach(() => {
  width = 1360;
  vi.stubGlobal('matchMedia', (query: string) => ({
    matches: width <= Number(/max-width: (\d+)px/.exec(query)?.[1] ?? 0),
    addEventListener: () => undefined,
  }));
});

afterEach(() => {
  localStorage.clear();
  vi.unstubAllGlobals();
});

it('is closed until something appears, and opens on that', () => {
  const layout = visit();
  expect(layout.aside).toBe(false);
  layout.appear('scratch');
  expect([layout.aside, layout.panel]).toEqual([true, 'scratch']);
  layout.appear('map');
  expect(layout.panel).toBe('map');
});

it('is not taken from what the person looks at', () => {
  const layout = visit();
  layout.show('documents');
  layout.appear('plan');
  expect([layout.aside, layout.panel]).toEqual([true, 'documents']);
});

it('stays closed where the person closed it, and says that something is new', () => {
  const layout = visit();
  layout.appear('plan');
  layout.toggleAside(false);
  layout.appear('scratch');
  expect([layout.aside, layout.news]).toEqual([false, true]);
  const later = visit({ isNew: false });
  later.appear('plan');
  expect([later.aside, later.news]).toEqual([false, true]);
  later.toggleAside(true);
  expect([later.aside, later.news]).toEqual([true, false]);
});

it('is open again where the person opened it', () => {
  const layout = visit({ isNew: false });
  layout.toggleAside(true);
  layout.show('trace');
  expect([visit({ isNew: false }).aside, visit({ isNew: false }).panel]).toEqual([true, 'trace']);
  expect(visit({ isNew: true }).aside).toBe(false);
  layout.show('documents');
  expect(visit({ isNew: true }).aside).toBe(true);
});

it('a quote that is opened is not a wish for the next conversation', () => {
  const layout = visit();
  layout.toggleAside(false);
  layout.show('sources');
  expect(layout.aside).toBe(true);
  layout.settle({ isNew: false });
  expect(layout.aside).toBe(false);
});

it('a stored layout of an earlier version is no decision about the panel', () => {
  localStorage.setItem('bathysphere.layout', JSON.stringify({ theme: 'dark', sidebar: true, aside: true, panel: 'plan' }));
  expect([visit().aside, visit().theme]).toEqual([false, 'dark']);
});

it.each([1000, 390])('never covers the conversation by itself at %i pixels', (pixels) => {
  width = pixels;
  const layout = visit();
  layout.appear('plan');
  expect([layout.aside, layout.news, layout.panel]).toEqual([false, true, 'plan']);
});
