import { expect, it, vi } from 'vitest';
import type { Api } from '$lib/protocol/api';
import { stopTrusting, trustedSources } from './trusts';

const trust = (name: string) => JSON.stringify({ source: 's', name, texts: ['x'] });
const trusts = { 'c1 s': trust('the page'), 'c2 s': trust('pay\u202e me'), void: null };

it('lists what is trusted and not taken back', () => {
  expect(trustedSources({})).toEqual([]);
  expect(trustedSources({ flow: { trusts } }).map(({ name }) => name)).toEqual(['the page', 'pay⟨U+202E⟩ me']);
  expect(trustedSources({ flow: { trusts, revoked: { 'c1 s': true } } }).map(({ id }) => id)).toEqual(['c2 s']);
  expect(trustedSources({ flow: { trusts }, flow_revoked: { 'c2 s': true } }).map(({ id }) => id)).toEqual(['c1 s']);
  expect(trustedSources({ flow: { trusts }, flow_revoked: { 'c2 s': true } }, { withRevoked: true })).toHaveLength(2);
});

it('only ever takes trust back', async () => {
  const send = vi.fn(() => Promise.resolve());
  await stopTrusting({ send } as unknown as Api, 't', 'c1 s');
  expect(send).toHaveBeenCalledExactlyOnceWith('POST', '/threads/t/state', { values: { flow_revoked: { 'c1 s': true } } });
});
