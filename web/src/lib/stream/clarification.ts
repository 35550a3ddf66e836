/** A clarification as it is asked, and its answer as the server wants it. */
import type { Json } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';

export interface Clarify {
  question: string;
  options: { id: string; label: string }[];
  isMultiple: boolean;
  /** Whether the person may answer in words of their own. */
  hasWords: boolean;
}

export function clarifyOf(payload: Json): Clarify {
  const fields = isFields(payload) ? payload : {};
  const options = (Array.isArray(fields['options']) ? fields['options'] : []).map((option) =>
    isFields(option)
      ? { id: String(option['id'] ?? option['label']), label: String(option['label'] ?? option['id']) }
      : { id: String(option), label: String(option) },
  );
  return {
    question: String(fields['question'] ?? ''),
    options,
    isMultiple: fields['allow_multiple'] === true,
    hasWords: !options.length || fields['allow_freeform'] === true,
  };
}

/** Null while there is nothing to send. */
export function answerOf(request: Clarify, selected: readonly string[], words: string): Json | null {
  const said = words.trim();
  if (!request.options.length) return said ? { response: said } : null;
  if (!selected.length && !said) return null;
  return { selected: [...selected], ...(said ? { freeform: said } : {}) };
}
