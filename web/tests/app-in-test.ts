/** The app in a test: its state on a server that a test controls, and components with that state. */
import { render } from '@testing-library/svelte';
import type { Component } from 'svelte';
import { vi } from 'vitest';
import { FakeLocks, FakeServer } from './fake-server';
import InApp from './InApp.svelte';
import { installed } from '$lib/extensions/installed';
import { Api } from '$lib/protocol/api';
import { AppState } from '$lib/state/app.svelte';

/** The app on a server with some answers of the test's own; for other paths it is a `FakeServer`. */
export function appOn(answers: Record<string, unknown> = {}): AppState {
  const server = new FakeServer();
  vi.stubGlobal('navigator', { locks: new FakeLocks(), platform: 'Linux' });
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) =>
    path in answers ? Response.json(answers[path]) : server.fetch(path, init),
  );
  return new AppState(new Api(), installed);
}

export function renderInApp<Props extends object>(app: AppState, component: Component<Props>, props?: Props): void {
  const shown = component as unknown as Component<Record<string, unknown>>;
  render(InApp, { app, component: shown, inner: { ...props } });
}
