/** Which workspace a conversation belongs to, and which one is looked at. */
import { readStored, writeStored } from '$lib/browser-storage';
import type { Fields } from '$lib/protocol/wire';
import type { AppState } from '$lib/state/app.svelte';
import { isFields } from '$lib/protocol/fields';
import { TeamApi } from './api';
import { Folder } from './folder.svelte';
import { OpenFile } from './file.svelte';
import { ChangeHistory } from './change-history.svelte';

export const AGENT = 'workspace';
const STORED = 'bathysphere.workspace';
const CHANGING = ['write_file', 'edit_file', 'delete'];

export type View = 'files' | 'changes';

export class Team {
  readonly api: TeamApi;
  readonly folder: Folder;
  readonly file: OpenFile;
  readonly history: ChangeHistory;
  view = $state<View>('files');
  #followed: string | null = null;
  #chosen = $state(readStored(STORED));
  /** Looked at in this conversation, where it is not the conversation's own. */
  #looked = $state.raw<{ thread: string; name: string } | null>(null);

  constructor(private readonly app: AppState) {
    this.api = new TeamApi(app.api);
    this.folder = new Folder(this.api);
    this.file = new OpenFile(this.api);
    this.history = new ChangeHistory(this.api);
  }

  readonly names = $derived.by(() => this.app.session.me?.workspaces ?? []);
  /** The workspace of new conversations: the last one chosen, while it may be used. */
  readonly chosen = $derived.by(
    () => this.names.find((name) => name === this.#chosen) ?? this.names.find((name) => name === 'main') ?? this.names[0] ?? null,
  );
  /** The workspace that the server has bound this conversation to. */
  readonly pinned = $derived.by(() => {
    const pin = this.app.conversation.values['workspace_pin'];
    return isFields(pin) && typeof pin['workspace'] === 'string' ? pin['workspace'] : null;
  });
  readonly shown = $derived.by(() => {
    const looked = this.#looked?.thread === this.app.conversation.id ? this.#looked.name : null;
    return this.names.find((name) => name === looked) ?? this.pinned ?? this.chosen;
  });
  /** How many changes the agents of this conversation have made: news for what is shown. */
  readonly made = $derived.by(
    () =>
      Object.values(this.app.conversation.view.calls).filter(
        ({ name, status }) => status === 'done' && CHANGING.includes(name),
      ).length,
  );

  /** For the next conversation; one that has begun stays where it is. */
  choose(name: string): void {
    this.#chosen = name;
    writeStored(STORED, name);
  }

  look(name: string): void {
    if (this.pinned === null) this.choose(name);
    this.#looked = { thread: this.app.conversation.id, name };
  }

  /** What goes along with a message: a choice, which the server may refuse. */
  input(): Fields {
    const { agent, conversation, session } = this.app;
    const isUnread = conversation.isLoading && !conversation.isNew; // its own workspace is not known yet
    const name = this.pinned ?? this.chosen ?? (session.me === null ? this.#chosen : null);
    return agent === AGENT && name !== null && !isUnread ? { workspace: name } : {};
  }

  /** Show a workspace; where it is shown already, read it again. */
  async follow(name: string): Promise<void> {
    if (name === this.#followed) return this.refresh();
    this.#followed = name;
    this.file.close();
    await Promise.all([this.folder.open(name, '/'), this.history.open(name)]);
  }

  /** Show a file of the conversation's workspace. */
  async showFile(path: string): Promise<void> {
    const workspace = this.#ownWorkspace();
    this.view = 'files';
    await this.follow(workspace);
    await this.file.open(workspace, path);
  }

  /** Show what undoing a change would do; the list of changes, where it is not in the newest. */
  async askUndo(callId: string): Promise<void> {
    this.view = 'changes';
    await this.follow(this.#ownWorkspace());
    this.history.askFor(callId);
  }

  /** Look at the workspace that the server has bound the conversation to. */
  #ownWorkspace(): string {
    this.#looked = null;
    return this.pinned!;
  }

  async refresh(): Promise<void> {
    await Promise.all([this.folder.reload(), this.file.reload(), this.history.reload()]);
  }
}

const teams = new WeakMap<AppState, Team>();

export function teamOf(app: AppState): Team {
  const known = teams.get(app) ?? new Team(app);
  teams.set(app, known);
  return known;
}
