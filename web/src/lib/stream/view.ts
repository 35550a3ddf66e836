/** What the page shows of a thread: plain data, made by the reducers in this folder. */
import type { Fields, Json, UsageWire, ValuesWire } from '$lib/protocol/wire';

export type Role = 'human' | 'ai' | 'system';

/** A message as far as it is known; `isOpen` while it is being written. */
export interface Message {
  readonly id: string;
  readonly role: Role;
  readonly text: string;
  readonly reasoning: string;
  /** Keys of `View.calls`. */
  readonly calls: readonly string[];
  readonly isOpen: boolean;
  /** Seen in the thread's state. */
  readonly isSettled: boolean;
  /** Sent from here, and not yet seen in the thread's state. */
  readonly isPending: boolean;
  /** Its run ended while it was being written. */
  readonly isCut: boolean;
  readonly usage: UsageWire | null;
  readonly model: string | null;
  readonly name: string | null;
  /** The links that no model put together; null where the server does not say. */
  readonly knownLinks: readonly string[] | null;
}

/** `aside`: it was waiting for the person, who wrote something else. */
export type CallStatus = 'writing' | 'waiting' | 'running' | 'done' | 'failed' | 'stopped' | 'aside';

/** What a person made of a change to a file. */
export interface Decision {
  readonly type: 'approve' | 'edit' | 'reject';
  readonly callId: string;
  readonly tool: string;
  readonly path: string;
  /** How many lines came and went; null where it is not known. */
  readonly lines: { readonly added: number; readonly removed: number } | null;
}

/** What became of a proposal for a document of the person, on their device. */
export interface Proposal {
  readonly status: 'applied' | 'partly' | 'refused' | 'conflict';
  readonly fileId: string | null;
  readonly version: string | null;
}

/** A call of a tool, from its first letter to its result. */
export interface Call {
  readonly key: string;
  readonly id: string;
  readonly name: string;
  readonly args: Fields | null;
  /** The arguments as they are being written. */
  readonly argsText: string;
  readonly status: CallStatus;
  readonly result: string | null;
  /** What the person said, where the call asked them. */
  readonly answer: string | null;
  /** What the person decided about changes of files: the call's own, or those of the subagent it sent out. */
  readonly decisions: readonly Decision[];
  /** What the person made of the document that the call proposed. */
  readonly proposal: Proposal | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

export type AgentStatus = 'running' | 'waiting' | 'done' | 'failed' | 'stopped';

/** One agent of the tree: the main one has the namespace `[]` and the key ''. */
export interface Agent {
  readonly key: string;
  readonly namespace: readonly string[];
  /** The call that sent it out. */
  readonly callId: string | null;
  readonly status: AgentStatus;
  readonly messages: readonly Message[];
  readonly values: ValuesWire;
}

/** Something the agent asks the person for. */
export interface Question {
  readonly id: string;
  readonly type: string;
  readonly payload: Json;
  readonly schema: Fields | null;
  readonly namespace: readonly string[];
  readonly callId: string | null;
}

export type StepKind = 'run' | 'model' | 'tool' | 'agent' | 'ask' | 'error' | 'note';

/** One line of the trace. */
export interface Step {
  readonly id: string;
  readonly at: number;
  readonly kind: StepKind;
  readonly agent: string;
  readonly words: string;
  /** A key of `View.calls`, where there is more to see. */
  readonly call: string | null;
}

export type RunStatus = 'idle' | 'running' | 'interrupted' | 'failed';

export interface View {
  readonly status: RunStatus;
  readonly runId: string | null;
  readonly graph: string | null;
  readonly error: string | null;
  readonly agents: Readonly<Record<string, Agent>>;
  readonly calls: Readonly<Record<string, Call>>;
  /** The newest call under an id, in an agent: `agent key + id` → key of `calls`. */
  readonly latest: Readonly<Record<string, string>>;
  readonly questions: readonly Question[];
  readonly steps: readonly Step[];
  readonly checkpoint: string | null;
  readonly parent: string | null;
  /** For each message of the person the checkpoint to go back to, to say it otherwise. */
  readonly before: Readonly<Record<string, string | null>>;
  /** What agents told on the custom channel, newest last, by name ('' without one). */
  readonly custom: Readonly<Record<string, readonly Json[]>>;
  /** Whether the thread's state is in here, and not only some of its events. */
  readonly isWhole: boolean;
}

export const ROOT = '';

export function newAgent(key: string, namespace: readonly string[]): Agent {
  return { key, namespace, callId: null, status: 'running', messages: [], values: {} };
}

export function emptyView(): View {
  return {
    status: 'idle',
    runId: null,
    graph: null,
    error: null,
    agents: { [ROOT]: { ...newAgent(ROOT, []), status: 'done' } },
    calls: {},
    latest: {},
    questions: [],
    steps: [],
    checkpoint: null,
    parent: null,
    before: {},
    custom: {},
    isWhole: false,
  };
}

export function newMessage(id: string, role: Role, over: Partial<Message> = {}): Message {
  return {
    id,
    role,
    text: '',
    reasoning: '',
    calls: [],
    isOpen: false,
    isSettled: false,
    isPending: false,
    isCut: false,
    usage: null,
    model: null,
    name: null,
    knownLinks: null,
    ...over,
  };
}
