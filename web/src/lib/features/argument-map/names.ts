/** Who put something forward, in words. */
import { titleOf } from '$lib/components/activity/gist';
import { mapText as text } from './text';

export function nameOf(author: string): string {
  return author === 'person' ? text.you : titleOf(author);
}
