import type { ModelCard } from '$lib/protocol/api';
import { text } from '$lib/text';

/** A model's name without its provider, as people know it. */
export function shortName({ name, is_demo: isDemo }: ModelCard): string {
  return isDemo ? text.models.demo : name.slice(name.indexOf(':') + 1);
}
