/** The app in a test: its state on a server that a test controls, and components with that state. */
import { render } from '@testing-library/svelte';
import type { Component } from 'svelte';
import { vi } from 'vitest';
import { FakeLocks, FakeServer } from './fake-server';
import InApp from './InApp.svelte';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from '$lib/state/app.svelte';

/** What a test answers itself: JSON or a response; `undefined` leaves it to the server. */
type Answer = (path: string, init: RequestInit) => unknown;

/** The app on a `FakeServer`, but for some answers of the test's own. */
export function appOn(answers: Record<string, unknown> = {}, answer: Answer = () => undefined): AppState {
  const server = new FakeServer();
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    const own = path in answers ? answers[path] : answer(path, init);
    return own === undefined ? server.fetch(path, init) : responseOf(own);
  });
  return new AppState(new Api(), installed);
}

const responseOf = (answer: unknown) => (answer instanceof Response ? answer : Response.json(answer));

export function renderInApp<Props extends object>(app: AppState, component: Component<Props>, props?: Props): void {
  const shown = component as unknown as Component<Record<string, unknown>>;
  render(InApp, { app, component: shown, inner: { ...props } });
}
