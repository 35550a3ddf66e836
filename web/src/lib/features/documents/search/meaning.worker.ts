/** The worker of search by meaning: loads the model, reads documents, answers queries. */
import { Embedder } from './embedder';
import { Library } from './library';
import { VectorStore } from './vector-store';
import type { News, WorkerRequest } from './worker-protocol';

const tell = (news: News) => postMessage(news);

/** Lets a message come in between two passages. */
function pause(left: number): Promise<void> {
  tell({ kind: 'left', left });
  const { port1, port2 } = new MessageChannel();
  return new Promise((done) => {
    port1.onmessage = () => (port1.close(), done());
    port2.postMessage(null);
  });
}

const opening = Embedder.load((progress) => tell({ kind: 'progress', ...progress })).then(
  (embedder) => new Library(new VectorStore(), (text) => embedder.embed(text), pause),
);

async function answer({ call }: WorkerRequest): Promise<unknown> {
  const library = await opening;
  switch (call.kind) {
    case 'load':
      return null;
    case 'fit':
      return library.fit(call.documents);
    case 'search':
      return library.search(call.query, call.versions, call.most);
    case 'keepOnly':
      return library.keepOnly(call.ids);
  }
}

addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) => {
  answer(data).then(
    (result) => tell({ kind: 'answer', id: data.id, result }),
    (error: unknown) => tell({ kind: 'error', id: data.id, message: error instanceof Error ? error.message : String(error) }),
  );
});
