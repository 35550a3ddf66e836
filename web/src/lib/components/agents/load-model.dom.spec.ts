import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { appOn, renderInApp } from '../../../../tests/app-in-test';
import LoadModel from './LoadModel.svelte';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** The component on a server that loads its model as the test says. */
function shown() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const app = appOn({ '/models': [], '/api/model/load': new Response(readable) });
  renderInApp(app, LoadModel);
  const tell = (step: object) => writer.write(new TextEncoder().encode(`data: ${JSON.stringify(step)}\n\n`));
  return { tell, end: () => writer.close() };
}

it('loads the model of the server and tells how far it is', async () => {
  const { tell, end } = shown();
  await fireEvent.click(screen.getByRole('button', { name: 'Load model' }));
  await screen.findByText('Loading the model …');
  await tell({ status: 'downloading', progress: 42, file: 'smollm2.gguf' });
  await screen.findByText('Downloading smollm2.gguf: 42 %');
  expect(screen.getByRole('progressbar').getAttribute('value')).toBe('42');
  expect(screen.queryByRole('button', { name: 'Load model' })).toBeNull();
  await tell({ status: 'ready', progress: 100 });
  await end();
  await vi.waitFor(() => expect(screen.queryByRole('progressbar')).toBeNull());
  expect(screen.queryByRole('button', { name: 'Load model' })).toBeNull();
});

it('says why loading failed, and offers it again', async () => {
  const { tell, end } = shown();
  await fireEvent.click(screen.getByRole('button', { name: 'Load model' }));
  await tell({ status: 'error', error: 'The file is damaged', hint: 'download it again' });
  await end();
  expect((await screen.findByRole('alert')).textContent).toBe('The file is damaged. Download it again');
  screen.getByRole('button', { name: 'Load model' });
});

it('says that the connection was lost, when the stream ends too early', async () => {
  const { tell, end } = shown();
  await fireEvent.click(screen.getByRole('button', { name: 'Load model' }));
  await tell({ status: 'downloading', progress: 1, file: 'smollm2.gguf' });
  await end();
  expect((await screen.findByRole('alert')).textContent).toContain('The connection was lost');
});
