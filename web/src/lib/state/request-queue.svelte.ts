/** Where requests of the agent are answered: by the person, or by a tool that runs here. */
import { runWhenFree } from '$lib/locks';
import type { Json } from '$lib/protocol/wire';
import { questionKey } from '$lib/stream/questions';
import type { Question } from '$lib/stream/view';
import { text } from '$lib/text';
import { toolRequest, type ClientTool, type ToolContext, type ToolHost } from './client-tools';
import type { Conversation } from './conversation.svelte';
import { answerKey, type Drafts } from './drafts.svelte';
import type { Tabs } from './tabs';

/** While the server refuses, an answer is sent at most once a second. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

/** Tools whose answer the server has not taken yet. */
export interface Stuck {
  /** What the server said. */
  message: string;
  /** It is being tried again; else it is for the person to say so. */
  isRetrying: boolean;
}

export class RequestQueue {
  /** Requests whose tool is at work here. */
  #working = $state.raw<ReadonlySet<string>>(new Set());
  /** Requests whose answer is on its way. */
  #sending = $state.raw<ReadonlySet<string>>(new Set());
  /** What the server said of an answer it refused. */
  #refused = $state.raw<Readonly<Record<string, string>>>({});
  #stuck = $state.raw<Stuck | null>(null);
  /** Results that the server has not taken yet: a tool runs once, however often its answer is sent. */
  readonly #results = new Map<string, Json>();

  constructor(
    private readonly app: ToolHost & { readonly tabs: Tabs; readonly drafts: Drafts },
    private readonly clientTools: ReadonlyMap<string, ClientTool>,
  ) {}

  /** Requests that wait for the person, in the order they came. */
  readonly open = $derived.by(() =>
    this.app.conversation.questions.filter((question) => !this.#runsHere(question)),
  );
  /** Requests that tools answer by themselves, and have not yet. */
  readonly automatic = $derived.by(() =>
    this.app.conversation.questions.filter((question) => this.#runsHere(question)),
  );
  /** Why the automatic answers wait; null while all is well. */
  readonly stuck = $derived.by(() => (this.automatic.length ? this.#stuck : null));

  refusedOf(question: Question): string | null {
    return this.#refused[question.id] ?? null;
  }

  isSending(question: Question): boolean {
    return this.#sending.has(question.id);
  }

  /** Whether the server has the answer. Its card stays until then: what was typed there is not lost by a refusal. */
  async answer(question: Question, response: Json): Promise<boolean> {
    if (this.isSending(question)) return false;
    const { conversation, tabs, drafts } = this.app;
    const { [question.id]: _, ...others } = this.#refused;
    this.#refused = others;
    this.#sending = new Set([...this.#sending, question.id]);
    try {
      const refusal = await conversation.respond([{ question, response }]);
      if (refusal) {
        this.#refused = { ...this.#refused, [question.id]: refusal.message };
        return false;
      }
      drafts.keep(answerKey(question), '');
      tabs.tell({ kind: 'answered', threadId: conversation.id, keys: [questionKey(question)] });
      return true;
    } finally {
      this.#sending = new Set([...this.#sending].filter((id) => id !== question.id));
    }
  }

  /** Answer the call of a tool: results go under the call's id. */
  answerTool(question: Question, result: Json): Promise<boolean> {
    const call = toolRequest(question);
    return this.answer(question, call ? { [call.callId]: result } : result);
  }

  context(question: Question, conversation = this.app.conversation): ToolContext {
    return {
      callId: toolRequest(question)?.callId ?? '',
      threadId: conversation.id,
      namespace: question.namespace,
      app: this.app,
    };
  }

  /** Run the tools that answer by themselves; all of them together, once the run has paused. */
  async work(): Promise<void> {
    const { conversation } = this.app;
    if (conversation.status !== 'interrupted' || conversation.signal.aborted) return;
    const waiting = this.automatic.filter((question) => !this.#working.has(questionKey(question)));
    if (!waiting.length) return;
    const keys = waiting.map(questionKey);
    const { signal } = conversation;
    this.#working = new Set([...this.#working, ...keys]);
    this.#stuck = null;
    try {
      // Of several tabs on this thread only one does the work; the others look what is left.
      await runWhenFree(`bathysphere tools ${conversation.id}`, signal, async (hasWaited) => {
        const left = hasWaited ? await conversation.stillOpen(waiting) : waiting;
        if (left.length) await this.#finish(conversation, left);
      });
    } catch (error) {
      if (!signal.aborted) this.#stuck = { message: messageOf(error), isRetrying: false };
    } finally {
      this.#working = new Set([...this.#working].filter((key) => !keys.includes(key)));
    }
    if (signal.aborted) await this.work(); // closed meanwhile: the same thread may be open again
  }

  /** Send the tools' results, again and again while the server is only busy or away. */
  async #finish(conversation: Conversation, questions: readonly Question[]): Promise<void> {
    const keys = questions.map(questionKey);
    const { signal } = conversation;
    const responses = await Promise.all(questions.map((question) => this.#resultOf(question, conversation)));
    const answers = questions.map((question, index) => ({ question, response: responses[index]! }));
    for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      const refusal = await conversation.respond(answers);
      if (refusal === null) {
        this.#stuck = null;
        for (const key of keys) this.#results.delete(key);
        this.app.tabs.tell({ kind: 'answered', threadId: conversation.id, keys });
        return;
      }
      this.#stuck = { message: refusal.message, isRetrying: refusal.isTransient };
      if (!refusal.isTransient) return;
      await pause(wait, signal);
    }
  }

  async #resultOf(question: Question, conversation: Conversation): Promise<Json> {
    const key = questionKey(question);
    const known = this.#results.get(key) ?? (await this.#run(question, conversation));
    this.#results.set(key, known);
    return known;
  }

  async #run(question: Question, conversation: Conversation): Promise<Json> {
    const { callId, name, args } = toolRequest(question)!;
    const tool = this.clientTools.get(name);
    if (!tool || !('run' in tool)) return { [callId]: { error: text.requests.noTool(name) } };
    try {
      return { [callId]: await tool.run(args, this.context(question, conversation)) };
    } catch (error) {
      return { [callId]: { error: messageOf(error) } };
    }
  }

  /** A tool that nobody here knows is answered too, or its run would wait for ever. */
  #runsHere(question: Question): boolean {
    const call = toolRequest(question);
    if (!call) return false;
    const tool = this.clientTools.get(call.name);
    return !tool || 'run' in tool;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
