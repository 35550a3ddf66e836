/**
 * How a part of the workspace is added without touching another part's files.
 *
 * A folder `src/lib/features/<word>/index.ts` has an `Extension` as its default export; it is found
 * by its place (see `all.ts`). Components are loaded when they are first shown, so that a heavy
 * part costs nothing before. Every component may call `useWorkspace()`.
 */
import type { Component } from 'svelte';
import type { Json } from '$lib/protocol/wire';
import type { Question } from '$lib/stream/view';
import type { Workspace } from '$lib/state/workspace.svelte';

/** A component that is fetched when it is first shown. */
export type Lazy<Props extends Record<string, unknown> = Record<string, never>> = () => Promise<{
  default: Component<Props>;
}>;

/** A tab on the right: Map, Document, Sources, Plan, Trace. */
export interface Panel {
  id: string;
  label: string;
  icon: Component<{ size?: number | string }>;
  /** Place from left to right: map 10, document 20, sources 30, plan 40, trace 50. */
  order: number;
  load: Lazy;
  /** A small number on the tab, 0 for none. */
  badge?: (workspace: Workspace) => number;
  /** Whether the tab is shown; always, when missing. */
  isShown?: (workspace: Workspace) => boolean;
}

/** A part of the left column, above the threads. */
export interface SidebarSection {
  id: string;
  order: number;
  load: Lazy;
}

/** A whole page of its own at `/<id>`, reached from the menu. */
export interface Page {
  id: string;
  label: string;
  icon: Component<{ size?: number | string }>;
  order: number;
  load: Lazy;
  /** Whether the menu has it; always, when missing. */
  isShown?: (workspace: Workspace) => boolean;
}

/** Something to choose beside who answers, such as the team's workspace. */
export interface ComposerPart {
  id: string;
  component: Component;
  isShown: (workspace: Workspace) => boolean;
}

/** A line under the composer, such as what the next step costs. */
export interface ComposerLine {
  id: string;
  order: number;
  load: Lazy;
  isShown: (workspace: Workspace) => boolean;
}

/** Something else that this browser keeps, and that belongs in the backup of the workspace. */
export interface BackupPart {
  /** Its name in the file. */
  name: string;
  /** What is to be kept; null for nothing. */
  export: () => Promise<unknown>;
  /** Throws where it cannot be taken in; nothing is written before all parts were checked. */
  check: (value: unknown) => void;
  /** Take it in; a sentence about it. */
  import: (value: unknown) => Promise<string>;
  wipe: () => Promise<void>;
  /** What a person should know before it is deleted; '' for nothing. */
  warning: () => Promise<string>;
}

/** A button beside the composer's send button. */
export interface ComposerAction {
  id: string;
  label: string;
  icon: Component<{ size?: number | string }>;
  run: (workspace: Workspace) => void | Promise<void>;
}

/** What a tool that runs in this browser is told about the call. */
export interface ToolContext {
  callId: string;
  threadId: string;
  /** Who asks: `[]` is the main agent. */
  namespace: readonly string[];
  workspace: Workspace;
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
 * person, who answers in the dock. A `run` that throws answers `{error: message}`.
 */
export type ClientTool =
  | { name: string; run: (args: Record<string, Json>, context: ToolContext) => Promise<Json> }
  | { name: string; card: Lazy<ToolCardProps> };

export interface RequestCardProps extends Record<string, unknown> {
  question: Question;
  onanswer: (response: Json) => void;
}

/** A card of its own for a type of request, such as `payment_exhausted`, or for one tool's: `type:tool`. */
export interface RequestCard {
  type: string;
  load: Lazy<RequestCardProps>;
  icon?: Component<{ size?: number | string }>;
  /** What goes after the name of who asks. */
  headline?: string;
}

/** Something drawn under an agent's message, such as the tutor's move. */
export interface MessageNote {
  id: string;
  order: number;
  load: Lazy<{ messageId: string }>;
  isShown: (messageId: string, workspace: Workspace) => boolean;
}

/** A body in place of a message's Markdown, such as a report whose quotes can be opened. */
export interface MessageBody {
  id: string;
  load: Lazy;
  isShown: (messageId: string, workspace: Workspace) => boolean;
}

/** A card at the head of the last turn: how far its run is. */
export interface RunCard {
  id: string;
  load: Lazy;
  isShown: (workspace: Workspace) => boolean;
}

export interface Extension {
  panels?: Panel[];
  sidebar?: SidebarSection[];
  pages?: Page[];
  composer?: ComposerAction[];
  composerParts?: ComposerPart[];
  clientTools?: ClientTool[];
  requests?: RequestCard[];
  notes?: MessageNote[];
  bodies?: MessageBody[];
  runs?: RunCard[];
  lines?: ComposerLine[];
  backup?: () => Promise<{ default: BackupPart }>;
  /** Called once when the workspace opens. */
  start?: (workspace: Workspace) => void | Promise<void>;
}
