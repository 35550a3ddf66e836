/**
 * Every regular expression of the browser app and of the verifier's page takes linear time, whatever
 * text it is given: `tests/unit/test_patterns.py` does the same for the server.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import vm from 'node:vm';
import { parse } from 'svelte/compiler';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const WEB = join(import.meta.dirname, '..');
const VERIFIER = join(WEB, '..', 'src', 'bathysphere', 'evidence', 'proof', 'verifier.html');
const SHORT = 8_000;
const LONG = 80_000;
const FAST_MS = 4;
const SLOW_MS = 400;
/** Ten times the length takes 10 times as long if linear, 100 times if quadratic. */
const WORST_RATIO = 40;
const STUCK_MS = 2_000;
/** How long the search for slow texts stays with one: what it leaves is judged by the bounds above. */
const SCAN_MS = 500;

/** Patterns that are put together at run time, from words that are escaped first. */
const COMPOSED = { 'src/lib/features/documents/ui/marks.ts': '(?<![\\p{L}\\p{N}])(a|aa|a a)(?![\\p{L}\\p{N}])' };

// ── finding them ──

function inScript(text, name) {
  const found = { literals: [], composed: 0 };
  const visit = (node) => {
    if (ts.isRegularExpressionLiteral(node)) found.literals.push(split(node.text));
    const isMade = (ts.isNewExpression(node) || ts.isCallExpression(node)) && ts.isIdentifier(node.expression);
    if (isMade && node.expression.text === 'RegExp') found.composed += 1;
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, false));
  return found;
}

function split(literal) {
  const end = literal.lastIndexOf('/');
  return { source: literal.slice(1, end), flags: literal.slice(end + 1) };
}

function inComponent(text) {
  const found = { literals: [], composed: 0 };
  const visit = (node) => {
    if (Array.isArray(node)) node.forEach(visit);
    if (node === null || typeof node !== 'object') return;
    if (node.type === 'Literal' && node.regex) found.literals.push({ source: node.regex.pattern, flags: node.regex.flags });
    if (['NewExpression', 'CallExpression'].includes(node.type) && node.callee.name === 'RegExp') found.composed += 1;
    for (const [name, inner] of Object.entries(node)) if (name !== 'parent' && !Array.isArray(node)) visit(inner);
  };
  visit(parse(text, { modern: true }));
  return found;
}

function patternsIn(path) {
  const text = readFileSync(path, 'utf8');
  if (path.endsWith('.svelte')) return inComponent(text);
  if (path.endsWith('.html')) return inScript(text.slice(text.indexOf('<script>') + 8, text.lastIndexOf('</script>')), 'page.js');
  return inScript(text, path);
}

const FILES = readdirSync(join(WEB, 'src'), { recursive: true })
  .filter((name) => /\.(?:ts|js|svelte)$/.test(name) && !name.endsWith('.spec.ts'))
  .sort()
  .map((name) => join(WEB, 'src', name));
const FOUND = new Map([...FILES, VERIFIER].map((path) => [relative(WEB, path), patternsIn(path)]));

// ── texts made from them ──

const FIXED = ['a', ' ', '\n', '\t', '0', '1,', 'a ', 'a.', '.', '!', '-', '_', '/', '\\', '`', '"', '“', '(', '[', '{', '<', '<a', '\n ', '@', 'é', '日', '\u200b', '😀'];
const ENDS = ['', '!', '\0', '\n', ' a'];
const ALPHABET = [...'aA0 \n\t.-_/\\`"\'“”()[]{}<>@#:;,!?*+=%&|~^$é日\u00a0\u200b\u202e\0'];
const PART = /\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|\[(?:\\.|[^\]\\])*\]|\(\?(?:<?[=!]|:|<\w*>)|\{\d*,?\d*\}|[()|*+?^$]|[\s\S]/gu;
const NO_LETTER = /^(?:\(.*|\{\d*,?\d*\}|[)|*+?^$]|\\[bB])$/u;

/** Letters that fit each part of a pattern. */
function lettersOf({ source, flags }) {
  const parts = (source.match(PART) ?? []).filter((part) => !NO_LETTER.test(part));
  return parts.map((part) => {
    const pattern = new RegExp(`^(?:${part})$`, flags.replace(/[gymd]/g, ''));
    const literal = part.startsWith('\\u') ? [JSON.parse(`"${part.replace(/\\u\{(.*)\}/, (_, code) => String.fromCodePoint(parseInt(code, 16)))}"`)] : [];
    const fitting = [...ALPHABET, ...literal, ...part].filter((letter) => pattern.test(letter));
    return [...new Set(fitting)].slice(0, 3);
  });
}

function seedsOf(pattern) {
  const letters = lettersOf(pattern);
  const first = letters.map(([letter]) => letter ?? '');
  const found = new Map();
  const add = (before, unit, after) => unit && found.set(JSON.stringify([before, unit, after]), [before, unit, after]);
  for (const unit of FIXED) for (const end of ['', '\0']) add('', unit, end);
  letters.forEach((fitting, at) => {
    const before = first.slice(0, at).join('');
    for (const end of ENDS) for (const letter of fitting) for (const start of ['', before]) add(start, letter, end);
    for (const width of [2, 3, 4, letters.length]) for (const start of ['', before]) add(start, first.slice(at, at + width).join(''), '\0');
  });
  return [...found.values()];
}

// ── timing ──

const RUN = new vm.Script(`
  const pattern = new RegExp(source, flags.includes('g') ? flags : flags + 'g');
  for (const [index, [text, tries]] of texts.entries()) {
    at = index;
    let best = Infinity;
    for (let turn = 0; turn < tries; turn += 1) {
      const began = now();
      text.replace(pattern, '');
      best = Math.min(best, now() - began);
    }
    took.push(best);
  }
`);

/** How long each text takes; a pattern that is stuck is interrupted. */
function times({ source, flags }, texts, limit = STUCK_MS) {
  const context = { source, flags, texts, took: [], at: 0, now: () => performance.now() };
  try {
    RUN.runInNewContext(context, { timeout: limit });
  } catch (error) {
    if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return { took: context.took, stuckAt: context.at };
  }
  return { took: context.took, stuckAt: null };
}

const textOf = ([before, unit, after], length) => before + unit.repeat(Math.ceil(length / unit.length)) + after;

/** Seeds whose short text is not done at once. Where the time is up, the rest has another turn. */
function* slowSeeds(pattern, seeds) {
  const { took, stuckAt } = times(pattern, seeds.map((seed) => [textOf(seed, SHORT), 1]), SCAN_MS);
  yield* seeds.filter((_, index) => took[index] > FAST_MS);
  if (stuckAt === null) return;
  yield seeds[stuckAt];
  yield* slowSeeds(pattern, seeds.slice(stuckAt + 1));
}

/** The text that takes too long, or nothing. */
function worstOf(pattern) {
  for (const seed of slowSeeds(pattern, seedsOf(pattern))) {
    const { took, stuckAt } = times(pattern, [[textOf(seed, SHORT), 3], [textOf(seed, LONG), 2]]);
    if (stuckAt !== null) return `${JSON.stringify(seed)} takes more than ${STUCK_MS} ms`;
    const [short, long] = took;
    if (long > SLOW_MS && long > WORST_RATIO * short) return `${JSON.stringify(seed)}: ${short} ms, ten times as long: ${long} ms`;
  }
  return null;
}

describe('a pattern', () => {
  const used = [...FOUND].filter(([, { literals }]) => literals.length);

  it.each(used)('of %s takes linear time', { timeout: 60_000 }, (_, { literals }) => {
    const slow = literals.map((pattern) => [`/${pattern.source}/${pattern.flags}`, worstOf(pattern)]);
    expect(slow.filter(([, why]) => why)).toEqual([]);
  });

  it('that is put together at run time is known, and takes linear time', () => {
    const files = [...FOUND].filter(([, { composed }]) => composed).map(([name]) => name);
    expect(files).toEqual(Object.keys(COMPOSED));
    for (const source of Object.values(COMPOSED)) expect(worstOf({ source, flags: 'giu' })).toBeNull();
  });

  it('is found wherever it is written', () => {
    const count = (end) => [...FOUND].filter(([name]) => name.endsWith(end)).reduce((sum, [, { literals }]) => sum + literals.length, 0);
    expect(count('.ts')).toBeGreaterThan(40);
    expect(count('.svelte')).toBeGreaterThan(0);
    expect(count('.html')).toBeGreaterThan(0);
    const component = "<script lang=\"ts\">const a: RegExp = /x+/u;</script>{'b'.replace(/y+/g, '')}";
    expect(inComponent(component).literals.map(({ source }) => source)).toEqual(expect.arrayContaining(['x+', 'y+']));
  });

  it.each(['(?:a|aa)+$', '\\s*\\[\\d+\\]', '[.!?]+(?=\\s|$)', '(\\w+\\s?)*!', '\\s+$', '[\\w.+-]+@[\\w-]+\\.[\\w.-]+', '<b>.*?</b>'])(
    'that is slow would be found: %s',
    { timeout: 60_000 },
    (source) => {
      expect(worstOf({ source, flags: 's' })).not.toBeNull();
    },
  );
});
