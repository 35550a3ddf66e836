/** Files of our own origin, with news of how much has come. */
export interface Progress {
  loaded: number;
  total: number;
}

export async function fetchAll(addresses: readonly string[], told: (progress: Progress) => void): Promise<ArrayBuffer[]> {
  const answers = await Promise.all(addresses.map((address) => fetch(address)));
  const broken = answers.find((answer) => !answer.ok);
  if (broken) throw new Error(`${broken.url} answered ${broken.status}`);
  const total = answers.reduce((sum, { headers }) => sum + Number(headers.get('content-length') ?? 0), 0);
  let loaded = 0;
  const count = (bytes: number) => told({ loaded: (loaded += bytes), total: Math.max(total, loaded) });
  return Promise.all(answers.map((answer) => wholeOf(answer, count)));
}

async function wholeOf(answer: Response, count: (bytes: number) => void): Promise<ArrayBuffer> {
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, out) {
      count(chunk.length);
      out.enqueue(chunk);
    },
  });
  return new Response(answer.body!.pipeThrough(counting)).arrayBuffer();
}
