/** A server in memory that speaks the real wire format: commands, REST and server-sent events. */
import type { Fields, MessageWire, QuestionWire, RunWire, StateWire, ThreadHitWire, ThreadWire, ValuesWire, WireEvent } from '$lib/protocol/wire';

export interface SeenRequest {
  at: number;
  method: string;
  path: string;
  body: Fields;
}

interface Refusal {
  matches: (request: SeenRequest) => boolean;
  /** 0: the connection fails. */
  status: number;
  body: Fields;
  times: number;
}

interface FakeThread {
  wire: ThreadWire;
  log: WireEvent[];
  messages: MessageWire[];
  interrupts: QuestionWire[];
  runs: RunWire[];
  checkpoints: string[];
}

export class FakeServer {
  readonly requests: SeenRequest[] = [];
  readonly threads = new Map<string, FakeThread>();
  /** How many streams are open, and how many were open at once at most. */
  streams = 0;
  mostStreams = 0;
  isAway = false;
  /** What a search in messages finds. */
  hits: (query: string) => ThreadHitWire[] = () => [];
  #refusals: Refusal[] = [];
  #gates: { matches: (request: SeenRequest) => boolean; opened: Promise<void> }[] = [];
  #followers = new Set<{ thread: string; send: (frame: string) => void; end: () => void }>();
  #count = 0;

  /** Refuse what matches, so many times; 0 cuts the connection. */
  refuse(matches: Refusal['matches'], status: number, { body = {}, times = Infinity }: { body?: Fields; times?: number } = {}) {
    const refusal = { matches, status, body: { error: 'refused', message: `Refused with ${status}`, ...body }, times };
    this.#refusals.push(refusal);
    return () => void (this.#refusals = this.#refusals.filter((other) => other !== refusal));
  }

  /** Let what matches wait until the gate is opened. */
  hold(matches: Refusal['matches']): () => void {
    let open = () => {};
    const gate = { matches, opened: new Promise<void>((resolve) => (open = resolve)) };
    this.#gates.push(gate);
    return () => {
      this.#gates = this.#gates.filter((other) => other !== gate);
      open();
    };
  }

  sent(method: string): SeenRequest[] {
    return this.requests.filter(({ body }) => body['method'] === method);
  }

  thread(id: string): FakeThread {
    return this.threads.get(id)!;
  }

  /** A thread with a finished talk. */
  add(id: string, words: readonly string[] = [], metadata: Fields = { title: `Thread ${id}` }): FakeThread {
    const thread = this.#make(id, metadata);
    words.forEach((text, index) => {
      const isHuman = index % 2 === 0;
      if (isHuman) this.#enqueue(thread, { messages: [human(`${id}-h${index}`, text)] });
      if (isHuman) this.begin(id);
      else this.say(id, `${id}-a${index}`, text);
      if (!isHuman) this.finish(id);
    });
    return thread;
  }

  /** A worker takes the next run. */
  begin(id: string): string {
    const thread = this.thread(id);
    const run = thread.runs.findLast(({ status }) => status === 'pending')!;
    run.status = 'running';
    thread.interrupts = [];
    thread.messages.push(...(run.kwargs?.input?.messages ?? []));
    thread.wire.status = 'busy';
    this.tell(id, 'lifecycle', { event: 'started', run_id: run.run_id, graph_name: 'simple' });
    this.#values(id);
    return run.run_id;
  }

  /** The agent says something, in pieces. */
  say(id: string, messageId: string, text: string): void {
    this.tell(id, 'messages', { event: 'message-start', message_id: messageId, role: 'ai', id: messageId });
    for (const piece of text.match(/.{1,6}/gs) ?? []) {
      const delta = { type: 'text-delta', text: piece };
      this.tell(id, 'messages', { event: 'content-block-delta', message_id: messageId, index: 0, delta });
    }
    this.tell(id, 'messages', { event: 'message-finish', message_id: messageId });
    this.thread(id).messages.push({ type: 'ai', id: messageId, content: text });
    this.#values(id);
  }

  /** The run pauses with questions. */
  ask(id: string, questions: readonly QuestionWire[]): void {
    const thread = this.thread(id);
    thread.interrupts = [...questions];
    for (const { id: interrupt_id, value } of questions) this.tell(id, 'input.requested', { interrupt_id, payload: value });
    this.finish(id, 'interrupted');
  }

  finish(id: string, event = 'completed'): void {
    const thread = this.thread(id);
    const run = thread.runs.find(({ status }) => status === 'running')!;
    run.status = event === 'completed' ? 'success' : 'interrupted';
    thread.wire.status = event === 'completed' ? 'idle' : 'interrupted';
    this.tell(id, 'lifecycle', { event, run_id: run.run_id });
  }

  /** Put an event into the log and give it to who follows. */
  tell(id: string, method: string, data: unknown): void {
    const { log } = this.thread(id);
    const seq = (log.at(-1)?.seq ?? 0) + 8;
    const event: WireEvent = { type: 'event', seq, event_id: String(seq), method, params: { namespace: [], timestamp: seq, data } };
    log.push(event);
    this.raw(id, `id: ${seq}\ndata: ${JSON.stringify(event)}\n\n`);
  }

  /** Send a frame as it is. */
  raw(id: string, frame: string): void {
    for (const follower of this.#followers) if (follower.thread === id) follower.send(frame);
  }

  /** Cut every stream. */
  drop(): void {
    for (const follower of [...this.#followers]) follower.end();
  }

  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const path = String(input);
    const body = (typeof init.body === 'string' ? JSON.parse(init.body) : {}) as Fields;
    const request = { at: performance.now(), method: init.method ?? 'GET', path, body };
    this.requests.push(request);
    if (this.isAway) throw new TypeError('Failed to fetch');
    await Promise.all(this.#gates.filter(({ matches }) => matches(request)).map(({ opened }) => opened));
    await Promise.resolve();
    init.signal?.throwIfAborted();
    const refusal = this.#refusals.find(({ matches, times }) => times > 0 && matches(request));
    if (refusal) {
      refusal.times -= 1;
      if (refusal.status === 0) throw new TypeError('Failed to fetch');
      return Response.json(refusal.body, { status: refusal.status });
    }
    return this.#answer(request, init.signal ?? null);
  };

  #answer({ method, path, body }: SeenRequest, signal: AbortSignal | null): Response {
    const [, top, id = '', part = '', run = '', verb = ''] = path.split('?')[0]!.split('/');
    if (top === 'workspaces') return Response.json({ tenant: 't', user: 'u', workspaces: [] });
    if (top === 'models') return Response.json([]);
    if (top === 'assistants') return Response.json([{ assistant_id: 'a', graph_id: 'simple', name: 'simple', description: null }]);
    if (top !== 'threads') return missing();
    if (id === 'messages') return Response.json(this.hits(String(body['query'])));
    if (id === 'search') return Response.json(this.#search(body));
    if (id === '') return Response.json(this.#make(String(body['thread_id']), (body['metadata'] ?? {}) as Fields).wire);
    if (part === 'commands') return this.#command(id, body);
    const thread = this.threads.get(id);
    if (!thread) return missing();
    if (part === '' && method === 'PATCH') {
      Object.assign(thread.wire.metadata, body['metadata']);
      return Response.json(thread.wire);
    }
    if (part === 'state') {
      const headers = { 'x-applied-through-seq': String(thread.log.at(-1)?.seq ?? 0) };
      return Response.json(this.#state(thread, run || undefined), { headers });
    }
    if (part === 'history') return Response.json([]);
    if (part === 'stream') return this.#stream(id, Number(body['since'] ?? 0), signal);
    if (part === 'runs' && verb === 'cancel') return this.#cancel(thread, run);
    if (part === 'runs') return Response.json(thread.runs);
    return missing();
  }

  #search(body: Fields): ThreadWire[] {
    const ids = body['ids'] as string[] | undefined;
    const words = String(body['title_contains'] ?? '').toLowerCase();
    const offset = Number(body['offset'] ?? 0);
    return [...this.threads.values()]
      .map(({ wire }) => wire)
      .filter((wire) => (!ids || ids.includes(wire.thread_id)) && String(wire.metadata['title'] ?? '').toLowerCase().includes(words))
      .sort((a, b) => b.updated_at.localeCompare(a.updated_at))
      .slice(offset, offset + Number(body['limit']));
  }

  #command(id: string, body: Fields): Response {
    const params = body['params'] as Fields;
    const success = (result: Fields) => {
      const seq = this.threads.get(id)?.log.at(-1)?.seq ?? 0;
      return Response.json({ type: 'success', id: body['id'], result, meta: { applied_through_seq: seq } });
    };
    if (body['method'] === 'run.start') {
      return success({ run_id: this.#enqueue(this.#make(id, {}), params['input'] as Fields).run_id });
    }
    const thread = this.threads.get(id);
    if (!thread) return missing();
    const responses = params['responses'] as { interrupt_id: string }[];
    const given = new Set(responses.map((response) => response.interrupt_id));
    if (!thread.interrupts.some((question) => given.has(question.id))) {
      return Response.json({ type: 'error', id: body['id'], error: 'no_such_interrupt', message: 'No such question' });
    }
    thread.interrupts = thread.interrupts.filter((question) => !given.has(question.id));
    if (thread.interrupts.length) return success({ taken: [...given] });
    return success({ taken: [...given], run_id: this.#enqueue(thread, null).run_id });
  }

  #cancel(thread: FakeThread, runId: string): Response {
    const run = thread.runs.find((other) => other.run_id === runId);
    if (!run) return missing();
    run.status = 'interrupted';
    this.tell(thread.wire.thread_id, 'lifecycle', { event: 'interrupted', run_id: runId });
    return Response.json({});
  }

  #stream(id: string, since: number, signal: AbortSignal | null): Response {
    const encoder = new TextEncoder();
    let follower: { thread: string; send: (frame: string) => void; end: () => void };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.streams += 1;
        this.mostStreams = Math.max(this.mostStreams, this.streams);
        const leave = () => {
          if (this.#followers.delete(follower)) this.streams -= 1;
        };
        follower = {
          thread: id,
          send: (frame) => controller.enqueue(encoder.encode(frame)),
          end: () => (leave(), controller.close()),
        };
        this.#followers.add(follower);
        signal?.addEventListener('abort', () => {
          if (!this.#followers.has(follower)) return;
          leave();
          controller.error(new DOMException('Aborted', 'AbortError'));
        });
        for (const event of this.thread(id).log) {
          if (event.seq > since) follower.send(`id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
        }
        follower.send(': beat\n\n');
      },
      cancel: () => {
        if (this.#followers.delete(follower)) this.streams -= 1;
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  #make(id: string, metadata: Fields): FakeThread {
    const known = this.threads.get(id);
    if (known) return known;
    this.#count += 1;
    const at = new Date(Date.UTC(2026, 0, 1) + this.#count * 60_000).toISOString();
    const wire: ThreadWire = { thread_id: id, created_at: at, updated_at: at, status: 'idle', metadata };
    const thread: FakeThread = { wire, log: [], messages: [], interrupts: [], runs: [], checkpoints: [] };
    this.threads.set(id, thread);
    return thread;
  }

  #enqueue(thread: FakeThread, input: Fields | null): RunWire {
    this.#count += 1;
    const run: RunWire = { run_id: `run-${this.#count}`, status: 'pending', kwargs: { input: input as ValuesWire | null } };
    thread.runs.unshift(run);
    return run;
  }

  #values(id: string): void {
    const { messages, checkpoints } = this.thread(id);
    const checkpoint = `c${checkpoints.length + 1}`;
    this.tell(id, 'checkpoints', { id: checkpoint, parent_id: checkpoints.at(-1) ?? `${id}-start`, step: checkpoints.length, source: 'loop' });
    checkpoints.push(checkpoint);
    this.tell(id, 'values', { messages: [...messages] });
  }

  #state(thread: FakeThread, checkpoint?: string): StateWire {
    return {
      values: { messages: thread.messages },
      next: thread.runs.some(({ status }) => status === 'pending' || status === 'running') ? ['__start__'] : [],
      checkpoint: { checkpoint_id: checkpoint ?? thread.checkpoints.at(-1) ?? null, checkpoint_ns: '' },
      parent_checkpoint: { checkpoint_id: thread.checkpoints.at(-2) ?? null },
      metadata: {},
      tasks: [],
      interrupts: thread.interrupts,
    };
  }
}

export const human = (id: string, content: string) => ({ type: 'human', id, content });

/** A question that words answer. */
export const asking = (id: string, question: string): QuestionWire => ({
  id,
  value: { type: 'clarification_request', tool: 'ask_user', tool_call_id: `call-${id}`, question },
});

/** A call of a tool that runs in the browser. */
export const calling = (id: string, name: string, args: Fields = {}): QuestionWire => ({
  id,
  value: { type: 'tool', tool_call: { id: `call-${id}`, name, args } },
});

/** The locks of a browser, shared by its tabs. */
export class FakeLocks {
  #held = new Map<string, Promise<unknown>>();

  request = async (name: string, first: unknown, second?: (lock: object | null) => Promise<unknown>): Promise<unknown> => {
    const run = (second ?? first) as (lock: object | null) => Promise<unknown>;
    const options = (second ? first : {}) as { ifAvailable?: boolean };
    const held = this.#held.get(name);
    if (held && options.ifAvailable) return run(null);
    const turn = (held ?? Promise.resolve()).catch(() => undefined).then(() => run({ name }));
    const settled = turn.catch(() => undefined).then(() => {
      if (this.#held.get(name) === settled) this.#held.delete(name);
    });
    this.#held.set(name, settled);
    return turn;
  };
}

function missing(): Response {
  return Response.json({ error: 'thread_not_found', message: 'Thread not found' }, { status: 404 });
}
