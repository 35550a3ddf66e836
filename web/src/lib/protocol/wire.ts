/** What goes over the wire, in the words of docs/protocol.md. Types only. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Fields = { [key: string]: Json };

export interface ToolCallWire {
  id: string;
  name: string;
  args: Fields;
}

export interface MessageWire {
  id?: string;
  /** human, ai, tool, system, or one that a newer server has. */
  type: string;
  content: string | Fields[];
  name?: string | null;
  tool_calls?: ToolCallWire[];
  tool_call_id?: string;
  status?: 'success' | 'error';
  usage_metadata?: UsageWire | null;
  additional_kwargs?: Fields;
  response_metadata?: Fields;
}

export interface UsageWire {
  input_tokens: number;
  output_tokens: number;
  total_tokens?: number;
}

export interface ValuesWire {
  messages?: MessageWire[];
  [key: string]: unknown;
}

export interface QuestionWire {
  id: string;
  value: Json;
  response_schema?: Fields;
}

export interface StateWire {
  values: ValuesWire;
  next: string[];
  checkpoint: { checkpoint_id: string | null; checkpoint_ns: string } | null;
  parent_checkpoint: { checkpoint_id: string | null } | null;
  checkpoint_id?: string | null;
  parent_checkpoint_id?: string | null;
  metadata: Fields;
  tasks: { id: string; name: string; interrupts: QuestionWire[] }[];
  interrupts: QuestionWire[];
}

export interface ThreadWire {
  thread_id: string;
  created_at: string;
  updated_at: string;
  status: 'idle' | 'busy' | 'interrupted' | 'error';
  metadata: Fields;
}

/** Messages of a thread that have the words of a search. */
export interface ThreadHitWire {
  thread_id: string;
  title: string | null;
  updated_at: string;
  /** How many of its messages have them; up to three are here. */
  count: number;
  hits: MessageHitWire[];
}

export interface MessageHitWire {
  message_id: string;
  role: 'person' | 'agent';
  excerpt: { text: string; is_match: boolean }[];
}

export interface RunWire {
  run_id: string;
  status: 'pending' | 'running' | 'success' | 'error' | 'timeout' | 'interrupted';
  kwargs?: { input?: ValuesWire | null };
}

export interface AssistantWire {
  assistant_id: string;
  graph_id: string;
  name: string;
  description: string | null;
  metadata?: Fields;
}

export type CommandAnswer =
  | { type: 'success'; id: number; result: Fields; meta?: { applied_through_seq?: number } }
  | { type: 'error'; id: number | null; error: string; message: string };

/** Events, by their method. Content is checked where it is read: a server may be newer than we. */
export interface WireEvent {
  type: 'event';
  seq: number;
  event_id: string;
  method: string;
  params: { namespace: string[]; timestamp: number; data: unknown; node?: string };
}

export interface LifecycleData {
  event: 'started' | 'running' | 'completed' | 'failed' | 'interrupted';
  run_id?: string;
  graph_name?: string;
  cause?: { type: string; tool_call_id?: string };
  error?: string;
}

export type MessageData = { message_id: string } & (
  | { event: 'message-start'; role: string; id: string; tool_call_id?: string }
  | { event: 'content-block-start' | 'content-block-finish'; index: number; content: BlockWire }
  | { event: 'content-block-delta'; index: number; delta: DeltaWire }
  | { event: 'message-finish'; usage?: UsageWire; metadata?: Fields; reason?: string }
);

export interface BlockWire {
  type: string;
  text?: string;
  reasoning?: string;
  id?: string | null;
  name?: string | null;
  args?: string | Fields;
  error?: string;
}

export type DeltaWire =
  | { type: 'text-delta'; text: string }
  | { type: 'reasoning-delta'; reasoning: string }
  | { type: 'block-delta'; fields: Partial<BlockWire> };

export interface ToolData {
  event: 'tool-started' | 'tool-finished' | 'tool-error';
  tool_call_id: string;
  tool_name?: string;
  input?: Json;
  output?: Json;
  message?: string;
  error?: string;
}

export interface InputData {
  interrupt_id: string;
  payload: Json;
  response_schema?: Fields;
}

export interface CheckpointData {
  id: string;
  parent_id?: string | null;
  step: number;
  source: string;
}
