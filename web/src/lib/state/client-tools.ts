/** Tools of the agent that run in this browser: what they are given, and how they answer. */
import type { Component } from 'svelte';
import type { Fields, Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import type { Question } from '$lib/stream/view';
import type { Conversation } from './conversation.svelte';

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

/** The part of the app that a tool may use. */
export interface ToolHost {
  readonly conversation: Conversation;
  /** The agent that answers in the conversation. */
  readonly agent: string;
}

/** What a tool that runs in this browser is told about the call. */
export interface ToolContext {
  callId: string;
  threadId: string;
  /** Who asks: `[]` is the main agent. */
  namespace: readonly string[];
  app: ToolHost;
}

export interface ToolCardProps extends Record<string, unknown> {
  question: Question;
  args: Record<string, Json>;
  context: ToolContext;
  /** Answer with the tool's result; the dock waits for nothing else. */
  onanswer: (result: Json) => void;
}

/**
 * A tool of the agent that runs here. `run` answers by itself; a tool with a `card` waits for the
 * person’s answer in the dock. A `run` that throws answers `{error: message}`.
 */
export type ClientTool =
  | { name: string; run: (args: Record<string, Json>, context: ToolContext) => Promise<Json> }
  | { name: string; card: () => Promise<{ default: Component<ToolCardProps> }> };
