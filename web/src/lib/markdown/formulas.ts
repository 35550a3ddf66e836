/**
 * Formulas in Markdown, kept as they were written.
 *
 * Without this, Markdown takes `\,` for an escaped comma and `_` or `*` for emphasis. A dollar sign
 * starts a formula as in Pandoc: no space after it, none before the closing one, no digit behind that.
 */
import type { TokenizerAndRendererExtension } from 'marked';

const PAIRS = [
  ['$$', '$$'],
  ['\\[', '\\]'],
  ['\\(', '\\)'],
] as const;
const MOST = 2_000;

export const formulas: TokenizerAndRendererExtension = {
  name: 'formula',
  level: 'inline',
  start: (source) => {
    const found = source.search(/\$|\\[([]/);
    return found < 0 ? undefined : found;
  },
  tokenizer: (source) => {
    const raw = formulaAt(source);
    return raw === null ? undefined : { type: 'formula', raw };
  },
  renderer: ({ raw }) => `<code class="math">${raw.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</code>`,
};

/** The formula that a text begins with. */
export function formulaAt(source: string): string | null {
  for (const [open, close] of PAIRS) {
    if (source.startsWith(open)) return between(source, open, close);
  }
  if (!source.startsWith('$') || /^\$\s/.test(source)) return null;
  const raw = between(source, '$', '$');
  const isClosed = raw !== null && !/\s\$$/.test(raw.slice(-2)) && !/^\d/.test(source.slice(raw.length));
  return isClosed ? raw : null;
}

function between(source: string, open: string, close: string): string | null {
  const end = source.slice(0, MOST).indexOf(close, open.length);
  const raw = source.slice(0, end + close.length);
  return end > open.length && !raw.includes('\n\n') ? raw : null;
}
