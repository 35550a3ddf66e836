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

it('does not report the refusal of a key that was replaced while its words were read', async () => {
  let finish = (): void => undefined;
  const body = new ReadableStream({
    start(controller) {
      finish = () => {
        controller.enqueue(new TextEncoder().encode('{"error": "unauthenticated", "message": "Sign in"}'));
        controller.close();
      };
    },
  });
  const api = new Api('', () => Promise.resolve(new Response(body, { status: 401 })));
  const refused = vi.fn();
  api.onrefused = refused;
  const asking = api.fetch('/info', {});
  await new Promise((resolve) => setTimeout(resolve));
  api.use('from-another-tab');
  finish();
  expect((await asking).status).toBe(401);
  expect(refused).not.toHaveBeenCalled();
});
