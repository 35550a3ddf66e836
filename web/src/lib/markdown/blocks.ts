/**
 * Markdown in blocks, while it grows: what is finished is never looked at again.
 *
 * A block ends at a blank line, and code between fences is a block of its own. A blank line within
 * a list, or before an indented line, does not end it. A reference defined in one block is not
 * known in another; chat has none.
 */
export interface Block {
  /** Where it starts in the text: its identity while the text grows. */
  readonly start: number;
  readonly kind: 'text' | 'code';
  readonly text: string;
  readonly language: string;
  readonly isDone: boolean;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const LIST = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
/** What may still become an item of a list when the rest of its line comes. */
const MAYBE_LIST = /^ {0,3}(?:[-*+]?|\d{1,9}[.)]?)$/;
const INDENTED = /^(?: {2,}|\t)/;

export class Splitter {
  #text = '';
  #done: Block[] = [];
  #offset = 0;

  update(text: string): readonly Block[] {
    if (!text.startsWith(this.#text)) {
      this.#done = [];
      this.#offset = 0;
    }
    this.#text = text;
    const { done, rest } = scan(text, this.#offset);
    if (done.length) {
      this.#done = [...this.#done, ...done];
      const last = done.at(-1)!;
      this.#offset = rest?.start ?? last.start + last.text.length;
    }
    return rest ? [...this.#done, rest] : this.#done;
  }
}

interface Line {
  start: number;
  end: number;
  text: string;
  isWhole: boolean;
}

function* linesFrom(text: string, offset: number): Generator<Line> {
  for (let start = offset; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found + 1;
    yield { start, end, text: text.slice(start, found === -1 ? end : found), isWhole: found !== -1 };
    start = end;
  }
}

interface Open {
  start: number;
  end: number;
  isList: boolean;
  fence: { mark: string; language: string } | null;
}

/** Finished blocks from an offset on, and the one that may still grow. */
export function scan(text: string, offset: number): { done: Block[]; rest: Block | null } {
  const done: Block[] = [];
  let open: Open | null = null;
  let isBlank = false;
  const close = () => {
    if (open) done.push(blockOf(text, open, true));
    open = null;
    isBlank = false;
  };
  for (const line of linesFrom(text, offset)) {
    const now = open;
    if (now?.fence) {
      now.end = line.end;
      if (line.isWhole && closes(line.text, now.fence.mark)) close();
      continue;
    }
    if (line.text.trim() === '') {
      if (now && line.isWhole) isBlank = true;
      continue;
    }
    const fence = FENCE.exec(line.text);
    const isItem = LIST.test(line.text) || (!line.isWhole && MAYBE_LIST.test(line.text));
    const goesOn = now && (INDENTED.test(line.text) || (now.isList && isItem));
    // A line that is still being written may turn out to be a fence: it does not end a block yet.
    if (now && !goesOn && line.isWhole && (isBlank || (fence && !now.isList))) close();
    else if (now && !goesOn && !line.isWhole && isBlank) close();
    if (open === null) {
      const opened = fence && line.isWhole ? { mark: fence[1]!, language: fence[2] ?? '' } : null;
      open = { start: line.start, end: line.end, isList: LIST.test(line.text), fence: opened };
    } else {
      (open).end = line.end;
    }
    isBlank = false;
  }
  return { done, rest: open ? blockOf(text, open, false) : null };
}

function closes(line: string, mark: string): boolean {
  const trimmed = line.trim();
  return trimmed.length >= mark.length && trimmed === mark[0]!.repeat(trimmed.length);
}

function blockOf(text: string, { start, end, fence }: Open, isDone: boolean): Block {
  const raw = text.slice(start, end);
  return { start, kind: fence ? 'code' : 'text', text: raw, language: fence?.language ?? '', isDone };
}

const CLOSING = /^ {0,3}(?:`{3,}|~{3,})\s*$/;

/** Whether code has both its fences; the last of a text has no line end. */
export function isClosed(block: Block): boolean {
  return block.kind === 'code' && (block.isDone || fenceAtEnd(block.text.split('\n')) > 0);
}

/** The lines between the fences. */
export function codeOf(block: Block): string {
  const lines = block.text.split('\n');
  const last = fenceAtEnd(lines);
  return lines.slice(1, last > 0 ? last : lines.length).join('\n').replace(/\n$/, '');
}

/** The line of the closing fence, which fits the opening one; -1 where there is none. */
function fenceAtEnd(lines: readonly string[]): number {
  const last = lines.findLastIndex((line) => line.trim() !== '');
  const mark = FENCE.exec(lines[0]!)?.[1] ?? '```';
  return last > 0 && CLOSING.test(lines[last]!) && closes(lines[last]!, mark) ? last : -1;
}
