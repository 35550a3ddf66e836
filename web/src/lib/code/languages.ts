/** The languages of code that have colours, each fetched when it is first shown. */
import type { StreamParser } from '@codemirror/streamparser';
import type { Parser } from '@lezer/common';
import { lezerTokens, streamTokens, type Tokenizer } from './tokens';

type Load = () => Promise<Tokenizer>;
const tree = (load: () => Promise<Parser>): Load => () => load().then(lezerTokens);
const stream = (load: () => Promise<StreamParser<unknown>>): Load => () => load().then(streamTokens);

const javascript = (dialect: string) => tree(() => import('@lezer/javascript').then(({ parser }) => parser.configure({ dialect })));
const clike = (name: 'kotlin' | 'csharp' | 'scala' | 'dart') =>
  stream(() => import('@codemirror/legacy-modes/mode/clike').then((modes) => modes[name]));

const LANGUAGES: Record<string, Load> = {
  'bash console sh shell zsh': stream(() => import('@codemirror/legacy-modes/mode/shell').then(({ shell }) => shell)),
  'c c++ cpp h hpp': tree(() => import('@lezer/cpp').then(({ parser }) => parser)),
  'cs csharp': clike('csharp'),
  'css': tree(() => import('@lezer/css').then(({ parser }) => parser)),
  'dart': clike('dart'),
  'diff patch': stream(() => import('@codemirror/legacy-modes/mode/diff').then(({ diff }) => diff)),
  'docker dockerfile': stream(() => import('@codemirror/legacy-modes/mode/dockerfile').then(({ dockerFile }) => dockerFile)),
  'go golang': tree(() => import('@lezer/go').then(({ parser }) => parser)),
  'haskell hs': stream(() => import('@codemirror/legacy-modes/mode/haskell').then(({ haskell }) => haskell)),
  'html': tree(() => import('@lezer/html').then(({ parser }) => parser)),
  'ini properties env': stream(() => import('@codemirror/legacy-modes/mode/properties').then(({ properties }) => properties)),
  'java': tree(() => import('@lezer/java').then(({ parser }) => parser)),
  'javascript js jsx mjs cjs': javascript('jsx'),
  'json jsonc jsonl': tree(() => import('@lezer/json').then(({ parser }) => parser)),
  'julia': stream(() => import('@codemirror/legacy-modes/mode/julia').then(({ julia }) => julia)),
  'kotlin kt': clike('kotlin'),
  'latex tex': stream(() => import('@codemirror/legacy-modes/mode/stex').then(({ stex }) => stex)),
  'lua': stream(() => import('@codemirror/legacy-modes/mode/lua').then(({ lua }) => lua)),
  'powershell ps1': stream(() => import('@codemirror/legacy-modes/mode/powershell').then(({ powerShell }) => powerShell)),
  'py python python3': tree(() => import('@lezer/python').then(({ parser }) => parser)),
  'r': stream(() => import('@codemirror/legacy-modes/mode/r').then(({ r }) => r)),
  'rb ruby': stream(() => import('@codemirror/legacy-modes/mode/ruby').then(({ ruby }) => ruby)),
  'rs rust': tree(() => import('@lezer/rust').then(({ parser }) => parser)),
  'scala': clike('scala'),
  'sql postgres postgresql sqlite': stream(() => import('@codemirror/legacy-modes/mode/sql').then(({ standardSQL }) => standardSQL)),
  'swift': stream(() => import('@codemirror/legacy-modes/mode/swift').then(({ swift }) => swift)),
  'toml': stream(() => import('@codemirror/legacy-modes/mode/toml').then(({ toml }) => toml)),
  'ts typescript mts': javascript('ts'),
  'tsx': javascript('ts jsx'),
  'xml svg': tree(() => import('@lezer/xml').then(({ parser }) => parser)),
  'yaml yml': tree(() => import('@lezer/yaml').then(({ parser }) => parser)),
};

const byName = new Map(Object.entries(LANGUAGES).flatMap(([names, load]) => names.split(' ').map((name) => [name, load] as const)));
const loaded = new Map<string, Tokenizer | null>();

/** What colours a language, at once if it is here; null where nobody knows it. */
export function tokenizerOf(language: string): Tokenizer | null | Promise<Tokenizer | null> {
  const name = language.toLowerCase();
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const load = byName.get(name);
  if (!load) return null;
  return load().then((tokenizer) => {
    loaded.set(name, tokenizer);
    return tokenizer;
  });
}
