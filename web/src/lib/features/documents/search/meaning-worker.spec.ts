import 'fake-indexeddb/auto';
import { describe, expect, it } from 'vitest';
import { Meaning } from './meaning.svelte';
import type { News, WorkerRequest } from './worker-protocol';

/** A worker that answers as it is told, and remembers what it was asked. */
function worker(answer: (asked: WorkerRequest) => unknown) {
  const kinds: string[] = [];
  const made = {
    onmessage: (_: { data: News }) => {},
    onerror: null,
    terminate: () => kinds.push('terminate'),
    postMessage(asked: WorkerRequest) {
      kinds.push(asked.call.kind);
      queueMicrotask(() => {
        try {
          made.onmessage({ data: { kind: 'answer', id: asked.id, result: answer(asked) } });
        } catch (error) {
          made.onmessage({ data: { kind: 'error', id: asked.id, message: String(error) } });
        }
      });
    },
  };
  return { kinds, start: () => made as unknown as Worker };
}

const documents = [{ id: 'a', version: '1', text: 'x' }];

describe('search by meaning, as the page sees it', () => {
  it('sends a document once, and again when it has changed', async () => {
    const { kinds, start } = worker(() => true);
    const meaning = new Meaning(start);
    await meaning.load();
    await Promise.all([meaning.fit(documents), meaning.fit(documents)]);
    await meaning.fit(documents);
    expect(kinds).toEqual(['load', 'fit']);
    await meaning.fit([{ id: 'a', version: '2', text: 'y' }]);
    expect(kinds).toEqual(['load', 'fit', 'fit']);
  });

  it('asks again for what was taken over', async () => {
    let isDone = false;
    const { start } = worker(() => isDone);
    const meaning = new Meaning(start);
    await meaning.load();
    expect(await meaning.fit(documents)).toBe(false);
    isDone = true;
    expect(await meaning.fit(documents)).toBe(true);
  });

  it('says that loading failed, and can be asked again', async () => {
    let isBroken = true;
    const { start, kinds } = worker(() => {
      if (isBroken) throw new Error('offline');
      return null;
    });
    const meaning = new Meaning(start);
    await meaning.load();
    expect([meaning.stage, kinds]).toEqual(['failed', ['load', 'terminate']]);
    isBroken = false;
    await meaning.load();
    expect(meaning.stage).toBe('ready');
  });
});
