/** Offers the documents of a conversation to `@`. */
import type { Mention } from '$lib/extensions/types';
import { fitting, mentionOf } from './mentions';
import { useShelf } from './store/shelf.svelte';

export async function find(letters: string, threadId: string): Promise<Mention[]> {
  const { documents } = useShelf();
  const project = await documents.projectOf(threadId);
  const rows = project === null ? [] : await documents.rows(project);
  return fitting(rows, letters).map(({ id, title }) => ({ id, label: title, words: mentionOf(title) }));
}
