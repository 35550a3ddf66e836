/**
 * How a feature is added to the app without touching another feature's files.
 *
 * A folder `src/lib/features/<word>/index.ts` has an `Extension` as its default export; it is found
 * by its place (see `installed.ts`). Components are loaded when they are first shown, so that a heavy
 * part costs nothing before. Every component may call `useApp()`.
 */
import type { Component } from 'svelte';
import type { Json } from '$lib/protocol/wire';
import type { Call, Question } from '$lib/stream/view';
import type { AppState } from '$lib/state/app.svelte';
import type { ClientTool } from '$lib/state/client-tools';
import type { Thread } from '$lib/state/thread';

/** A component that is fetched when it is first shown. */
export type Lazy<Props extends Record<string, unknown> = Record<string, never>> = () => Promise<{
  default: Component<Props>;
}>;

/** Words that are read when they are shown: the language is loaded after the extensions. */
export type Words = () => string;

/** A part of the panel on the right: a tab of its own, or a section of one. */
export interface Panel {
  id: string;
  label: Words;
  icon: Component<{ size?: number | string }>;
  /** Its tab: `work` (what the agent does), `documents` (the person's), or the agent's own, such as `map`. */
  tab: string;
  /** Place in its tab, from top to bottom. What the agent has of its own comes first where several things appear. */
  order: number;
  load: Lazy;
  /** Folded until it is opened: details for those who look for them. */
  isFolded?: boolean;
  /** A small number on the tab, 0 for none. */
  badge?: (app: AppState) => number;
  /** Whether it is shown; always, when missing. */
  isShown?: (app: AppState) => boolean;
  /** Whether something is in it: the panel opens on what appears; never, when missing. */
  isFilled?: (app: AppState) => boolean;
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
  label: Words;
  icon: Component<{ size?: number | string }>;
  order: number;
  load: Lazy;
  /** The page that leads to it, in place of the menu. */
  parent?: string;
  /** Whether the menu has it; always, when missing. */
  isShown?: (app: AppState) => boolean;
}

/** A section of the settings page. */
export interface SettingsPart {
  id: string;
  title: Words;
  order: number;
  load: Lazy;
}

/** Something beside the agent in the composer, such as the team's workspace or the button to attach files. */
export interface ComposerPart {
  id: string;
  component: Component;
  isShown: (app: AppState) => boolean;
}

/** Something above the composer that is there from the start, such as the drop target for files. */
export interface ComposerHeader {
  id: string;
  component: Component;
}

/** A passage of a document of the person, as the server cites it. */
export interface DocumentQuote {
  file: string;
  version: string;
  start: number;
  end: number;
  /** What `start` and `end` count; characters, when missing. */
  unit?: 'characters' | 'bytes';
  quote: string;
}

/** Where a quote stands, as a reader looks it up. */
export interface Citation {
  title: string;
  /** Such as `p. 3`; '' where the document has no pages or no longer has the words. */
  pages: string;
}

/** Whether the quoted words are shown; where not, the document has lost them or was deleted in this browser. */
export type QuoteOutcome = 'shown' | 'changed' | 'deleted';

/** A line under the composer, such as what the next step costs. */
export interface ComposerLine {
  id: string;
  order: number;
  load: Lazy;
  isShown: (app: AppState) => boolean;
}

/** A decision that an import needs, with the words of its two answers. */
export interface ImportQuestion {
  text: string;
  agree: string;
  refuse: string;
}

/** Something else that this browser keeps, and that belongs in the backup. */
export interface BackupPart {
  /** Its name in the file. */
  name: string;
  /** What is to be kept; null for nothing. */
  export: () => Promise<unknown>;
  /** Throws a `BackupError` where it cannot be taken in; nothing is written before all parts were checked. */
  check: (value: unknown) => void;
  /** What only the person can decide about this import; null for nothing. */
  question: (value: unknown) => Promise<ImportQuestion | null>;
  /** Take it in; a sentence about it. `isAgreed` is the answer to its question. */
  import: (value: unknown, isAgreed: boolean) => Promise<string>;
  wipe: () => Promise<void>;
  /** What a person should know before it is deleted; '' for nothing. */
  warning: () => Promise<string>;
}

/** Something that `@` names in a message, such as a document. */
export interface Mention {
  id: string;
  /** What the person sees. */
  label: string;
  /** What is written in the message, with its `@`. */
  words: string;
}

/** Where the composer looks for what `@` may name. */
export interface MentionSource {
  id: string;
  /** What fits the letters after `@`, best first. */
  find: (letters: string, app: AppState) => Promise<readonly Mention[]>;
}

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
  headline?: Words;
}

/** Something drawn under an agent's message, such as the tutor's move. */
export interface MessageNote {
  id: string;
  order: number;
  load: Lazy<{ messageId: string }>;
  isShown: (messageId: string, app: AppState) => boolean;
}

/** A line that stays in the conversation: what the person decided about a call. */
export interface DecidedLine {
  id: string;
  load: Lazy<{ call: Call }>;
  isShown: (call: Call) => boolean;
}

/** A body in place of a message's Markdown, such as a report whose quotes can be opened. */
export interface MessageBody {
  id: string;
  load: Lazy;
  isShown: (messageId: string, app: AppState) => boolean;
}

/** A card at the head of the last turn: how far its run is. */
export interface RunCard {
  id: string;
  load: Lazy;
  isShown: (app: AppState) => boolean;
}

/** Something that the menu of a conversation offers, and that opens in the menu's place. */
export interface ThreadAction {
  id: string;
  label: Words;
  icon: Component<{ size?: number | string }>;
  order: number;
  load: Lazy<{ thread: Thread; close: () => void }>;
}

export interface Extension {
  threadActions?: ThreadAction[];
  panels?: Panel[];
  sidebar?: SidebarSection[];
  pages?: Page[];
  settings?: SettingsPart[];
  composerParts?: ComposerPart[];
  composerHeaders?: ComposerHeader[];
  mentions?: MentionSource[];
  clientTools?: ClientTool[];
  requests?: RequestCard[];
  notes?: MessageNote[];
  bodies?: MessageBody[];
  decided?: DecidedLine[];
  runs?: RunCard[];
  lines?: ComposerLine[];
  backup?: () => Promise<{ default: BackupPart }>;
  /** Texts of this browser that agents have been given: a link that carries them away asks first. */
  sharedTexts?: () => Promise<string[]>;
  /** Show a passage of a document; throws where such a document has never been here. */
  openQuote?: (quote: DocumentQuote) => Promise<QuoteOutcome>;
  /** How to cite a passage of a document; null where the document is not in this browser. */
  citeQuote?: (quote: DocumentQuote) => Promise<Citation | null>;
  /** Called once when the app starts. */
  start?: (app: AppState) => void | Promise<void>;
  /** Called before the person signs out, while the server still knows them. */
  leave?: (app: AppState) => Promise<void>;
}
