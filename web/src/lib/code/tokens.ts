/** Code in pieces that have a colour: by Lezer, as the editor does it, or by a mode that reads line by line. */
import { StringStream, type StreamParser } from '@codemirror/streamparser';
import type { Parser } from '@lezer/common';
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight';

export interface Piece {
  text: string;
  /** The class of its colour; '' for plain text. */
  kind: string;
}

export type Tokenizer = (code: string) => Piece[];

const kinds = tagHighlighter([
  { tag: tags.comment, class: 'comment' },
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword, tags.tagName], class: 'keyword' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string), tags.attributeValue], class: 'string' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.unit, tags.color], class: 'number' },
  { tag: [tags.typeName, tags.className, tags.namespace], class: 'type' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.function(tags.definition(tags.variableName)), tags.macroName],
    class: 'function',
  },
  { tag: [tags.propertyName, tags.attributeName, tags.definition(tags.propertyName)], class: 'property' },
  { tag: [tags.meta, tags.processingInstruction, tags.documentMeta], class: 'meta' },
]);

export const lezerTokens = (parser: Parser): Tokenizer => (code) => {
  const pieces: Piece[] = [];
  let at = 0;
  highlightTree(parser.parse(code), kinds, (from, to, kind) => {
    add(pieces, code.slice(at, from), '');
    add(pieces, code.slice(from, to), kind.split(' ', 1)[0]!);
    at = to;
  });
  add(pieces, code.slice(at), '');
  return pieces;
};

/** How the modes call what they find. */
const NAMES: Record<string, string> = {
  'comment': 'comment', 'keyword': 'keyword', 'tag': 'keyword', 'tagName': 'keyword', 'string': 'string', 'string.special': 'string',
  'number': 'number', 'atom': 'number', 'bool': 'number', 'type': 'type', 'typeName': 'type', 'typeName.standard': 'type',
  'def': 'function', 'variableName.function': 'function', 'variableName.definition': 'property', 'builtin': 'function',
  'variableName.standard': 'function', 'property': 'property', 'propertyName': 'property', 'attribute': 'property',
  'attributeName': 'property', 'meta': 'meta', 'inserted': 'inserted', 'deleted': 'deleted', 'heading': 'meta',
};
/** A longer line is no code that a person reads, and could keep a mode's patterns busy. */
const LONGEST_LINE = 2_000;
const INDENT = 2;

export const streamTokens = (mode: StreamParser<unknown>): Tokenizer => (code) => {
  const pieces: Piece[] = [];
  const state = mode.startState?.(INDENT);
  code.split('\n').forEach((line, index) => {
    if (index > 0) add(pieces, '\n', '');
    if (line.length > LONGEST_LINE) add(pieces, line, '');
    else readLine(mode, state, line, pieces);
  });
  return pieces;
};

function readLine(mode: StreamParser<unknown>, state: unknown, line: string, pieces: Piece[]): void {
  if (line === '') {
    mode.blankLine?.(state, INDENT);
    return;
  }
  const stream = new StringStream(line, INDENT, INDENT);
  let idle = 0;
  while (!stream.eol()) {
    stream.start = stream.pos;
    const name = mode.token(stream, state) ?? '';
    if (stream.pos === stream.start && (idle += 1) > 10) stream.next(); // a mode may change its state without a step
    add(pieces, line.slice(stream.start, stream.pos), NAMES[name] ?? NAMES[name.split(/[ .]/, 1)[0]!] ?? '');
  }
}

function add(pieces: Piece[], text: string, kind: string): void {
  const last = pieces.at(-1);
  if (text === '') return;
  if (last?.kind === kind) last.text += text;
  else pieces.push({ text, kind });
}
