import { cleanup } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import { reduce } from '$lib/stream/reducer';
import type { WireEvent } from '$lib/protocol/wire';
import { emptyView } from '$lib/stream/view';
import WorkingIndicator from './WorkingIndicator.svelte';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const told = (method: string, data: unknown) =>
  ({ type: 'event', event_id: '1', method, params: { namespace: [], timestamp: 0, data } }) as unknown as WireEvent;
const reads = (read: number, seconds_left: number | null) =>
  told('custom', { name: 'prompt_progress', payload: { read, total: 2281, cached: 0, seconds_left } });

function shown(...events: WireEvent[]) {
  const app = appOn();
  const view = events.reduce(reduce, emptyView());
  vi.spyOn(app.conversation, 'view', 'get').mockReturnValue(view);
  renderInApp(app, WorkingIndicator);
  return document.body.textContent;
}

it('says how much of its prompt a slow model has read, and about how long the rest takes', () => {
  expect(shown(reads(0, null))).toContain('Reading the prompt: 0 of 2,281 tokens');
  cleanup();
  expect(shown(reads(0, null), reads(1536, 11.2))).toContain('1,536 of 2,281 tokens, about 12 s left');
});

it('says nothing of it when the prompt is read, or another run begins', () => {
  expect(shown(reads(1536, 11.2), reads(2281, 0))).not.toContain('Reading');
  cleanup();
  expect(shown(reads(1536, 11.2), told('lifecycle', { event: 'running' }))).not.toContain('Reading');
});
