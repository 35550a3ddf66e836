/** What the page shows of a thread: plain data, made by the reducers in this folder. */
import type { Fields, Json, UsageWire, ValuesWire } from '$lib/protocol/wire';

export type Role = 'human' | 'ai' | 'tool' | 'system';

/** A message as far as it is known; `isOpen` while it is being written. */
export interface Message {
  readonly id: string;
  readonly role: Role;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly string[];
  readonly isOpen: boolean;
  readonly usage?: UsageWire;
  readonly toolCallId?: string;
  readonly model?: string;
}

export type CallStatus = 'writing' | 'waiting' | 'running' | 'done' | 'failed';

/** A call of a tool, from its first letter to its result. */
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly argsText: string;
  readonly args: Fields | null;
  readonly status: CallStatus;
  readonly result: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

/** One agent of the tree: the main one has the namespace `[]`. */
export interface Agent {
  readonly key: string;
  readonly namespace: readonly string[];
  readonly name: string;
  readonly task: string;
  /** The call of the tool `task` that sent it out. */
  readonly callId: string | null;
  readonly status: 'running' | 'completed' | 'interrupted' | 'failed';
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
}

export interface Step {
  readonly at: number;
  readonly kind: 'run' | 'model' | 'tool' | 'agent' | 'ask' | 'error' | 'note';
  readonly who: string;
  readonly words: string;
}

export type RunStatus = 'idle' | 'running' | 'interrupted' | 'failed';

export interface View {
  readonly status: RunStatus;
  readonly runId: string | null;
  readonly graph: string | null;
  readonly error: string | null;
  readonly agents: Readonly<Record<string, Agent>>;
  readonly calls: Readonly<Record<string, Call>>;
  readonly questions: readonly Question[];
  readonly steps: readonly Step[];
  /** The newest checkpoint, and for each message the one it was added to. */
  readonly checkpoint: string | null;
  readonly bornAfter: Readonly<Record<string, string | null>>;
  /** What agents told on the custom channel, newest last, by name. */
  readonly custom: Readonly<Record<string, readonly Json[]>>;
  readonly seq: number;
}
