/**
 * Formulas in Markdown, kept as they were written; `maths.ts` typesets them once it is loaded.
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
const MOST = 5_000;
const BLOCK = /(?:^|\n) {0,3}(?:\$\$|\\\[)/;

export interface Formula {
  tex: string;
  isDisplay: boolean;
}

const htmlOf = (raw: string, kind: string) => `<code class="${kind}">${raw.trim().replace(/&/g, '&amp;').replace(/</g, '&lt;')}</code>`;

const inline: TokenizerAndRendererExtension = {
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
  renderer: ({ raw }) => htmlOf(raw, 'math'),
};

/** A formula on lines of its own, in which `+` or `-` at the start of a line begins no list. */
const block: TokenizerAndRendererExtension = {
  name: 'formulaBlock',
  level: 'block',
  start: (source) => {
    const found = BLOCK.exec(source);
    return found ? found.index + (found[0].startsWith('\n') ? 1 : 0) : undefined;
  },
  tokenizer: (source) => {
    const raw = formulaLines(source);
    return raw === null ? undefined : { type: 'formulaBlock', raw };
  },
  renderer: ({ raw }) => `<p>${htmlOf(raw, 'math lines')}</p>`,
};

export const formulas = [inline, block];

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

/** The whole lines of a displayed formula that a text begins with; one that is still being written too. */
function formulaLines(source: string): string | null {
  const indent = /^ {0,3}(?=\$\$|\\\[)/.exec(source)?.[0];
  if (indent === undefined) return null;
  const body = source.slice(indent.length);
  const raw = formulaAt(body) ?? (/^(?:\$\$|\\\[)\s*\n/.test(body) ? unfinished(body) : null);
  if (raw === null) return null;
  const rest = /^[ \t]*(?:\n|$)/.exec(body.slice(raw.length));
  return rest && indent + raw + rest[0];
}

function unfinished(source: string): string | null {
  const [open] = source.startsWith('$$') ? PAIRS[0] : PAIRS[1];
  const end = source.indexOf('\n\n');
  const raw = end < 0 ? source : source.slice(0, end);
  return raw.length > open.length && raw.length < MOST ? raw : null;
}

function between(source: string, open: string, close: string): string | null {
  const end = source.slice(0, MOST).indexOf(close, open.length);
  const raw = source.slice(0, end + close.length);
  return end > open.length && !raw.includes('\n\n') ? raw : null;
}

/** What is between the marks of a formula; null where one is missing. */
export function formulaOf(raw: string): Formula | null {
  for (const [open, close] of [...PAIRS, ['$', '$']] as const) {
    if (!raw.startsWith(open)) continue;
    if (raw.length <= open.length + close.length || !raw.endsWith(close)) return null;
    return { tex: raw.slice(open.length, -close.length), isDisplay: open === '$$' || open === '\\[' };
  }
  return null;
}
