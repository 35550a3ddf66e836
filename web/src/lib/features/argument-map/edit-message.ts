/** What the person changed on the map in their words, to be said in the conversation. */
import type { ArgumentMap } from './map';
import type { Edits } from './pending-edits.svelte';
import { mapText as text, verdictsOf } from './text';

export function editMessageOf(map: ArgumentMap, edits: Edits): string {
  const quoted = (id: string) => text.quoted((edits.nodes[id] ?? map.nodes[id])?.text ?? '');
  const replaced = Object.values(edits.rewords);
  const added = Object.values(edits.nodes).map(({ id, kind }) => {
    const old = edits.rewords[id];
    if (old) return text.rewordWords(quoted(old), quoted(id));
    const relation = Object.values(edits.relations).find(({ origin }) => origin === id);
    const words = text.addWords(kind, quoted(id));
    return relation ? text.bearing(words, text.bonds[relation.kind], quoted(relation.target)) : words;
  });
  const decided = Object.entries(edits.decisions)
    .filter(([id]) => id in map.nodes && !replaced.includes(id))
    .map(([id, { status, reason }]) => {
      const words = verdictsOf(map.nodes[id]!.kind).say[status](quoted(id));
      return reason ? text.because(words, reason) : words;
    });
  return [...added, ...decided].join('\n');
}
