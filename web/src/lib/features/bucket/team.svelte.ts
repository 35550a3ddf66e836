/** Which workspace a conversation belongs to, and which one is looked at. */
import type { Fields } from '$lib/protocol/wire';
import type { Workspace } from '$lib/state/workspace.svelte';
import { isFields } from '$lib/stream/settle';
import { TeamApi } from './api';
import { Folder } from './folder.svelte';
import { OpenFile } from './file.svelte';
import { Record } from './record.svelte';

export const AGENT = 'workspace';
const STORED = 'bathysphere.workspace';
const CHANGING = ['write_file', 'edit_file', 'delete'];

export type View = 'files' | 'changes';

export class Team {
  readonly api: TeamApi;
  readonly folder: Folder;
  readonly file: OpenFile;
  readonly record: Record;
  view = $state<View>('files');
  #followed: string | null = null;
  #chosen = $state(localStorage.getItem(STORED));
  /** Looked at in this conversation, where it is not the conversation's own. */
  #looked = $state.raw<{ thread: string; name: string } | null>(null);

  constructor(private readonly workspace: Workspace) {
    this.api = new TeamApi(workspace.api);
    this.folder = new Folder(this.api);
    this.file = new OpenFile(this.api);
    this.record = new Record(this.api);
  }

  readonly names = $derived.by(() => this.workspace.session.me?.workspaces ?? []);
  /** The workspace of new conversations: the last one chosen, while it may be used. */
  readonly chosen = $derived.by(
    () => this.names.find((name) => name === this.#chosen) ?? this.names.find((name) => name === 'main') ?? this.names[0] ?? null,
  );
  /** The workspace that the server has bound this conversation to. */
  readonly pinned = $derived.by(() => {
    const pin = this.workspace.conversation.values['workspace_pin'];
    return isFields(pin) && typeof pin['workspace'] === 'string' ? pin['workspace'] : null;
  });
  readonly shown = $derived.by(() => {
    const looked = this.#looked?.thread === this.workspace.conversation.id ? this.#looked.name : null;
    return this.names.find((name) => name === looked) ?? this.pinned ?? this.chosen;
  });
  /** How many changes the agents of this conversation have made: news for what is shown. */
  readonly made = $derived.by(
    () =>
      Object.values(this.workspace.conversation.view.calls).filter(
        ({ name, status }) => status === 'done' && CHANGING.includes(name),
      ).length,
  );

  /** For the next conversation; one that has begun stays where it is. */
  choose(name: string): void {
    this.#chosen = name;
    localStorage.setItem(STORED, name);
  }

  look(name: string): void {
    if (this.pinned === null) this.choose(name);
    this.#looked = { thread: this.workspace.conversation.id, name };
  }

  /** What goes along with a message: a choice, which the server may refuse. */
  input(): Fields {
    const { agent, conversation, session } = this.workspace;
    const isUnread = conversation.isLoading && !conversation.isNew; // its own workspace is not known yet
    const name = this.pinned ?? this.chosen ?? (session.me === null ? this.#chosen : null);
    return agent === AGENT && name !== null && !isUnread ? { workspace: name } : {};
  }

  /** Show a workspace; where it is shown already, read it again. */
  async follow(name: string): Promise<void> {
    if (name === this.#followed) return this.refresh();
    this.#followed = name;
    this.file.close();
    await Promise.all([this.folder.open(name, '/'), this.record.open(name)]);
  }

  async refresh(): Promise<void> {
    await Promise.all([this.folder.reload(), this.file.reload(), this.record.reload()]);
  }
}

const teams = new WeakMap<Workspace, Team>();

export function teamOf(workspace: Workspace): Team {
  const known = teams.get(workspace) ?? new Team(workspace);
  teams.set(workspace, known);
  return known;
}
