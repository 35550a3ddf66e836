/** What became of a change that an agent proposed, as far as this browser knows the document. */
import type { Proposal } from '$lib/stream/view';
import type { Documents } from './documents';
import { hunksOf, linesOf } from './hunks';

export interface DecidedChange {
  title: string;
  isNew: boolean;
  lines: { added: number; removed: number } | null;
  /** Whether the document is still what the change made of it, what it was before, or something else. */
  now: 'changed' | 'undone' | 'other';
}

/** null: the document is not in this browser. */
export async function decidedChange(documents: Documents, { fileId, version }: Proposal): Promise<DecidedChange | null> {
  const row = fileId === null ? undefined : await documents.db.documents.get(fileId);
  if (!row) return null;
  const versions = await documents.versions(row.id);
  const at = versions.findIndex((one) => one.version === version && one.by === 'agent');
  const [made, before] = [versions[at], versions[at + 1]];
  if (at < 0 || !made) return { title: row.title, isNew: false, lines: null, now: 'other' };
  const now = row.version === version ? 'changed' : row.version === before?.version ? 'undone' : 'other';
  return { title: row.title, isNew: !before, lines: countLines(before?.text ?? '', made.text), now };
}

/** Go back to the text before the change; nothing else may have been written since. */
export async function undoChange(documents: Documents, { fileId, version }: Proposal): Promise<void> {
  const versions = await documents.versions(fileId!);
  const before = versions[versions.findIndex((one) => one.version === version && one.by === 'agent') + 1];
  if (before) await documents.replace(fileId!, { text: before.text, base: version! });
}

function countLines(before: string, after: string) {
  const hunks = hunksOf(before, after);
  const count = (side: 'old' | 'new') => hunks.reduce((sum, hunk) => sum + linesOf(hunk[side]).length, 0);
  return { added: count('new'), removed: count('old') };
}
