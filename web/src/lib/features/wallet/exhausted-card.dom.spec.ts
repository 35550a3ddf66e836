import { cleanup, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import type { Json } from '$lib/protocol/wire';
import ExhaustedCard from './ExhaustedCard.svelte';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function show(error: Json = null) {
  const payload = { needed_sats: 50, balance_sats: 0, error };
  const question = { id: '1', type: 'payment_exhausted', payload, schema: null, namespace: [], callId: null };
  renderInApp(appOn(), ExhaustedCard, { question, onanswer: () => {} });
}

it('says why the last token was refused', () => {
  show({ code: 'spent', message: 'This token was spent.' });
  expect(screen.getByRole('alert').textContent).toContain('This token was spent.');
});

it('says nothing of a refusal at the first request', () => {
  show();
  expect(screen.queryByRole('alert')).toBeNull();
});
