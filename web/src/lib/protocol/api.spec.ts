import { afterEach, expect, it, vi } from 'vitest';
import { FakeServer } from '../../../tests/fake-server';
import { Api } from './api';

afterEach(() => void vi.unstubAllGlobals());

it('stays with the server that it was made for, so that no test reaches the server of the next', async () => {
  const [first, next] = [new FakeServer(), new FakeServer()];
  vi.stubGlobal('fetch', first.fetch);
  const api = new Api();
  vi.stubGlobal('fetch', next.fetch);
  next.isAway = true;
  await expect(api.me()).resolves.toBeTruthy();
});
