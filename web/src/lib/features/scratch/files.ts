/** The agent's scratch files, as the thread's state has them. */
import { isFields } from '$lib/protocol/fields';

export interface ScratchFile {
  path: string;
  content: string;
  modifiedAt: string | null;
}

export function scratchFiles(value: unknown): ScratchFile[] {
  if (!isFields(value)) return [];
  return Object.entries(value)
    .filter(([, file]) => file !== null)
    .map(([path, file]) => ({
      path,
      content: contentOf(isFields(file) ? file['content'] : file),
      modifiedAt: isFields(file) && typeof file['modified_at'] === 'string' ? file['modified_at'] : null,
    }))
    .sort((a, b) => a.path.localeCompare(b.path));
}

function contentOf(content: unknown): string {
  return Array.isArray(content) ? content.join('\n') : String(content ?? '');
}
