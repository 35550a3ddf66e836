/** Where requests of the agent are answered: by the person, or by a tool that runs here. */
import { clientTools } from '$lib/extend/all';
import type { ToolContext } from '$lib/extend/extension';
import type { Fields, Json } from '$lib/protocol/wire';
import { questionKey } from '$lib/stream/asked';
import { isFields } from '$lib/stream/settle';
import type { Question } from '$lib/stream/view';
import { text } from '$lib/text';
import type { Workspace } from './workspace.svelte';

export interface ToolRequest {
  callId: string;
  name: string;
  args: Fields;
}

/** The call of a request of type `tool`; null for other requests. */
export function toolRequest(question: Question): ToolRequest | null {
  const call = isFields(question.payload) ? question.payload['tool_call'] : null;
  if (question.type !== 'tool' || !isFields(call)) return null;
  const { id, name, args } = call;
  return { callId: String(id), name: String(name), args: isFields(args) ? args : {} };
}

export class Desk {
  /** Requests whose tool is at work here. */
  #working = $state.raw<ReadonlySet<string>>(new Set());
  /** Requests whose answer is on its way. */
  #sending = $state.raw<ReadonlySet<string>>(new Set());
  /** What the server said of an answer it refused. */
  #refused = $state.raw<Readonly<Record<string, string>>>({});

  constructor(private readonly workspace: Workspace) {}

  /** Requests that wait for the person, in the order they came. */
  readonly open = $derived.by(() =>
    this.workspace.conversation.questions.filter((question) => !this.#runsHere(question)),
  );
  /** Requests that tools answer by themselves, and have not yet. */
  readonly automatic = $derived.by(() =>
    this.workspace.conversation.questions.filter((question) => this.#runsHere(question)),
  );

  refusedOf(question: Question): string | null {
    return this.#refused[question.id] ?? null;
  }

  isSending(question: Question): boolean {
    return this.#sending.has(question.id);
  }

  /** Its card stays until the server has the answer: what was typed there is not lost by a refusal. */
  async answer(question: Question, response: Json): Promise<void> {
    if (this.isSending(question)) return;
    const { conversation, tabs } = this.workspace;
    const { [question.id]: _, ...others } = this.#refused;
    this.#refused = others;
    this.#sending = new Set([...this.#sending, question.id]);
    const problem = await conversation.respond([{ question, response }]);
    this.#sending = new Set([...this.#sending].filter((id) => id !== question.id));
    if (problem !== null) this.#refused = { ...this.#refused, [question.id]: problem };
    else tabs.tell({ kind: 'answered', threadId: conversation.id, keys: [questionKey(question)] });
  }

  /** Answer the call of a tool: results go under the call's id. */
  answerTool(question: Question, result: Json): Promise<void> {
    const call = toolRequest(question);
    return this.answer(question, call ? { [call.callId]: result } : result);
  }

  context(question: Question): ToolContext {
    const { conversation } = this.workspace;
    return {
      callId: toolRequest(question)?.callId ?? '',
      threadId: conversation.id,
      namespace: question.namespace,
      workspace: this.workspace,
    };
  }

  /** Run the tools that answer by themselves; all of them together, once the run has paused. */
  async work(): Promise<void> {
    const { conversation } = this.workspace;
    if (conversation.status !== 'interrupted') return;
    const waiting = this.automatic.filter((question) => !this.#working.has(question.id));
    if (!waiting.length) return;
    const ids = waiting.map((question) => question.id);
    this.#working = new Set([...this.#working, ...ids]);
    // Of several tabs on this thread only one does the work.
    await alone(`bathysphere ${conversation.id} ${ids.join(' ')}`, async () => {
      const results = await Promise.all(waiting.map((question) => this.#run(question)));
      const answers = waiting.map((question, index) => ({ question, response: results[index]! }));
      const problem = await conversation.respond(answers);
      if (problem === null) this.workspace.tabs.tell({ kind: 'answered', threadId: conversation.id, keys: waiting.map(questionKey) });
      else this.#refused = { ...this.#refused, ...Object.fromEntries(ids.map((id) => [id, problem])) };
    });
    this.#working = new Set([...this.#working].filter((id) => !ids.includes(id)));
  }

  async #run(question: Question): Promise<Json> {
    const { callId, name, args } = toolRequest(question)!;
    const tool = clientTools.get(name);
    if (!tool || !('run' in tool)) return { [callId]: { error: text.requests.noTool(name) } };
    try {
      return { [callId]: await tool.run(args, this.context(question)) };
    } catch (error) {
      return { [callId]: { error: error instanceof Error ? error.message : String(error) } };
    }
  }

  /** A tool that nobody here knows is answered too, or its run would wait for ever. */
  #runsHere(question: Question): boolean {
    const call = toolRequest(question);
    if (!call) return false;
    const tool = clientTools.get(call.name);
    return !tool || 'run' in tool;
  }
}

async function alone(name: string, run: () => Promise<void>): Promise<void> {
  if (!('locks' in navigator)) return run();
  await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await run();
  });
}
