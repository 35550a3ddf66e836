/** What the server says of a team's workspaces; who may see what is its decision alone. */
import type { Api } from '$lib/protocol/api';

export interface Entry {
  path: string;
  is_dir: boolean;
  size: number;
  modified_at?: string;
}

export interface FolderPage {
  entries: Entry[];
  /** Where the next page begins; null: there is no more. */
  next: string | null;
}

export interface FileWindow {
  path: string;
  size: number;
  version: string;
  modified_at: string;
  file: { content: string; encoding: 'utf-8' | 'base64' };
  start_line: number | null;
  end_line: number | null;
  total_lines: number | null;
  next_offset: number | null;
}

export interface Change {
  change_id: number;
  path: string;
  action: string;
  asked_by: string;
  approver: string;
  thread_id: string | null;
  /** The call that made it; null for an undo. */
  tool_call_id: string | null;
  before_version: string;
  after_version: string | null;
  undoes: number | null;
  undone_by: number | null;
  at: string | null;
}

/** A change with what undoing it would do now, or why it cannot be undone. */
export interface Undoing extends Change {
  diff: string | null;
  refusal: string | null;
}

export const ABSENT = 'absent';

export class TeamApi {
  constructor(private readonly api: Api) {}

  folder(workspace: string, path: string, { limit, after = '' }: { limit: number; after?: string }): Promise<FolderPage> {
    return this.#get(workspace, 'files', { path, limit, after });
  }

  file(workspace: string, path: string, { limit, offset = 0 }: { limit: number; offset?: number }): Promise<FileWindow> {
    return this.#get(workspace, 'file', { path, limit, offset });
  }

  async changes(workspace: string, { limit, before }: { limit: number; before?: number }): Promise<Change[]> {
    const query = { limit, ...(before ? { before } : {}) };
    return (await this.#get<{ changes: Change[] }>(workspace, 'changes', query)).changes;
  }

  undoing(workspace: string, id: number): Promise<Undoing> {
    return this.#get(workspace, `changes/${id}`, {});
  }

  async undo(workspace: string, id: number): Promise<void> {
    await this.api.send('POST', `/workspaces/${encodeURIComponent(workspace)}/changes/${id}/undo`);
  }

  #get<T>(workspace: string, what: string, query: Record<string, string | number>): Promise<T> {
    const asked = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return this.api.send('GET', `/workspaces/${encodeURIComponent(workspace)}/${what}?${asked}`);
  }
}
