/** The house rules of the browser app, as tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', 'src');
const read = (path) => readFileSync(join(root, path), 'utf8');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
const components = files.filter((path) => path.endsWith('.svelte'));
const sources = files.filter((path) => /\.(svelte|ts)$/.test(path) && !path.endsWith('.spec.ts'));

describe('components', () => {
  const lines = components.map((path) => read(path).split('\n').length).sort((a, b) => a - b);

  it('are at most 250 lines, half of them under 100', () => {
    expect(components.filter((path) => read(path).split('\n').length > 250)).toEqual([]);
    expect(lines[Math.floor(lines.length / 2)]).toBeLessThan(100);
  });

  it('use runes only', () => {
    const old = /\bexport let\b|\$: |\son:[a-z]+=|<slot\b|createEventDispatcher/;
    expect(components.filter((path) => old.test(read(path)))).toEqual([]);
  });

  it('have no style attribute, which the policy would refuse', () => {
    expect(components.filter((path) => /\sstyle="/.test(read(path)))).toEqual([]);
  });
});

describe('languages', () => {
  const stylesOf = (path) => (path.endsWith('.css') ? read(path) : (read(path).match(/<style>[\s\S]*<\/style>/)?.[0] ?? ''));
  const styled = files.filter((path) => /\.(svelte|css)$/.test(path));

  /** Declarations that put something left or right, whichever way the language is written. */
  function physical(styles) {
    const sides = /^\s*(?:(?:margin|padding|border|scroll-margin|scroll-padding)-)?(?:left|right)(?:-\w+)?:|(?:text-align|float): *(?:left|right)|border-\w+-(?:left|right)-radius/gm;
    const fours = [...styles.matchAll(/\b(?:margin|padding|inset): ([^;]+);/g)].filter(([, value]) => {
      const parts = value.replaceAll(/\([^()]*(?:\([^()]*\)[^()]*)*\)/g, (group) => group.replaceAll(' ', '')).split(' ');
      return parts.length === 4 && parts[1] !== parts[3];
    });
    return [...(styles.match(sides) ?? []), ...fours.map(([whole]) => whole)];
  }

  it('written from right to left turn the layout round', () => {
    const found = (styles) => physical(styles).length;
    expect([found('a {\n  left: 0;\n  text-align: right;\n  border-left-color: red;\n}'), found('padding: 0 1px 0 calc(-1 * var(--a));')]).toEqual([3, 1]);
    expect([found('inset-inline-start: 0; --left: 1;'), found('padding: 0 calc(1 * 2px) 0 calc(1 * 2px);')]).toEqual([0, 0]);
    expect(styled.flatMap((path) => physical(stylesOf(path)).map((words) => `${path}: ${words.trim()}`))).toEqual([]);
  });

  /** The tags of a component, with `{…}` emptied, and the words between them. */
  function partsOf(component) {
    const markup = component.replaceAll(/<script[\s\S]*?<\/script>|<style>[\s\S]*?<\/style>|<!--[\s\S]*?-->/g, '');
    let depth = 0;
    const bare = [...markup].map((letter) => {
      if (letter === '{') depth += 1;
      else if (letter === '}') depth -= 1;
      return depth > 0 ? (letter === '{' ? '{' : '') : letter;
    });
    const tags = bare.join('').match(/<[^<>]*>/g) ?? [];
    return { tags, words: bare.join('').replaceAll(/<[^<>]*>|[{}]/g, '\n').split('\n') };
  }

  /** Words that are written in a component itself. */
  function literalsOf(component) {
    const { tags, words } = partsOf(component);
    const named = /\b(?:aria-label|aria-description|title|placeholder|alt|label|hint)="[^"{]*\p{L}{2}[^"]*"/gu;
    return [...tags.flatMap((tag) => tag.match(named) ?? []), ...words.filter((text) => /\p{L}{2}/u.test(text))];
  }

  it('have all words of components in text files', () => {
    expect(literalsOf('<p title="Open it">{a ? { b } : "c"} Close</p>')).toEqual(['title="Open it"', ' Close']);
    expect(literalsOf('<script>const a = 1;</script><a href="/help" title={text.a}>{text.b}</a>')).toEqual([]);
    expect(components.flatMap((path) => literalsOf(read(path)).map((words) => `${path}: ${words.trim()}`))).toEqual([]);
  });

  it('have all words of errors that people read in text files', () => {
    const worded = /new WalletError\(['"`]|super\(['"`]/;
    expect(worded.test("throw new WalletError('Damaged.')")).toBe(true);
    expect(sources.filter((path) => path.includes('features/wallet/') && worded.test(read(path)))).toEqual([]);
  });

  it('can be written in every field in their own direction', () => {
    const fields = (path) => partsOf(read(path)).tags.filter((tag) => /^<(textarea|input)\b/.test(tag));
    const isWords = (tag) => !/\btype=(?:\{|"(?!text|search))/.test(tag);
    expect(components.filter((path) => fields(path).some((tag) => isWords(tag) && !tag.includes('dir="auto"')))).toEqual([]);
  });

  it('decide how dates and numbers are written', () => {
    const own = /\bIntl\.|\.toLocale\w+\(|\.toFixed\(/;
    expect(sources.filter((path) => own.test(read(path)))).toEqual(['lib/format.ts']);
  });
});

describe('sources', () => {
  it('reach the browser’s storage by the one helper that survives its refusal', () => {
    const direct = sources.filter((path) => /\b(local|session)Storage\b/.test(read(path)));
    expect(direct).toEqual(['lib/browser-storage.ts']);
  });
});

describe('imports', () => {
  /** From the bottom up; the longest match counts. */
  const layers = [
    'lib/browser-storage.ts',
    'lib/languages',
    'lib/format.ts',
    'lib/text.ts',
    'lib/sha256.ts',
    'lib/invisible.ts',
    'lib/locks.ts',
    'lib/download.ts',
    'lib/persistence.ts',
    'lib/service-worker.ts',
    'lib/protocol',
    'lib/sign-in',
    'lib/changes',
    'lib/code',
    'lib/diagrams',
    'lib/markdown',
    'lib/stream',
    'lib/state',
    'lib/extensions',
    'lib/components',
    'lib/features',
    'lib/extensions/installed.ts',
    'lib/languages/catalogues',
  ];
  const known = new Set(sources);

  function layerOf(file) {
    const path = file.replace(/text\.[a-z]+\.ts$/, 'text.ts'); // a translation is where its English is
    const [best] = layers.filter((layer) => path === layer || path.startsWith(`${layer}/`)).sort((a, b) => b.length - a.length);
    return layers.indexOf(best);
  }

  /** The file of `src` that a specifier means; null for packages, styles and generated files. */
  function fileOf(path, specifier) {
    if (!/^(\.|\$lib\/)/.test(specifier)) return null;
    const [bare] = specifier.replace('$lib/', '/lib/').split('?');
    const target = bare.startsWith('/') ? bare.slice(1) : normalize(join(dirname(path), bare));
    return [target, `${target}.ts`, `${target}/index.ts`].find((file) => known.has(file)) ?? null;
  }

  /** The files that a glob means. */
  function globbed(path, pattern) {
    const target = normalize(join(dirname(path), pattern));
    const escaped = target.replace(/[.+^${}()|[\]\\]/g, '\\$&');
    const form = new RegExp(`^${escaped.replaceAll('*', '[^/]*').replaceAll('[^/]*[^/]*/', '(?:.+/)?')}$`);
    return sources.filter((file) => form.test(file));
  }

  /** What a module needs: imports of values and of types, of workers, on demand and by a glob. */
  function importsOf(path, code) {
    const named = [
      ...code.matchAll(/\b(?:import|export)\b(?:[^'"`;()]*?\bfrom)?\s*'([^']+)'/g),
      ...code.matchAll(/\bimport\(\s*'([^']+)'/g),
      ...code.matchAll(/\bnew URL\(\s*'([^']+)',\s*import\.meta\.url/g),
    ].map(([, specifier]) => fileOf(path, specifier));
    const globs = [...code.matchAll(/\bimport\.meta\.glob(?:<[^(]*>)?\(\s*'([^']+)'/g)];
    return [...new Set([...named.filter(Boolean), ...globs.flatMap(([, pattern]) => globbed(path, pattern))])];
  }

  const graph = new Map(sources.map((path) => [path, importsOf(path, read(path))]));
  const arrows = [...graph].flatMap(([path, targets]) => targets.map((target) => [path, target]));

  /** The import circles of a graph, each as one way round. */
  function circlesOf(modules) {
    const circles = [];
    const done = new Set();
    const visit = (path, trail) => {
      if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      if (done.has(path) || trail.includes(path)) return;
      for (const target of modules.get(path) ?? []) visit(target, [...trail, path]);
      done.add(path);
    };
    for (const path of modules.keys()) visit(path, []);
    return circles;
  }

  it('are seen in every form', () => {
    const seen = (code) => importsOf('lib/state/tabs.ts', code);
    expect(seen("import { text } from '$lib/text';")).toEqual(['lib/text.ts']);
    expect(seen("import type { AppState } from './app.svelte';")).toEqual(['lib/state/app.svelte.ts']);
    expect(seen("import {\n  type Json,\n} from '../protocol/wire';")).toEqual(['lib/protocol/wire.ts']);
    expect(seen("export * from './route.svelte';")).toEqual(['lib/state/route.svelte.ts']);
    expect(seen("const load = () => import('../../App.svelte');")).toEqual(['App.svelte']);
    expect(seen("new Worker(new URL('./frames.ts', import.meta.url));")).toEqual(['lib/state/frames.ts']);
    expect(seen("import.meta.glob<{ default: Extension }>('../features/*/index.ts');")).toContain('lib/features/wallet/index.ts');
    expect(seen("import.meta.glob('../**/*text.de.ts', { eager: true });")).toContain('lib/components/help/text.de.ts');
    expect(seen("import { marked } from 'marked';")).toEqual([]);
  });

  it('have a layer for every file of lib', () => {
    expect(sources.filter((path) => path.startsWith('lib/') && layerOf(path) === -1)).toEqual([]);
  });

  it('point down: text, protocol, stream, state, extensions, components, features', () => {
    const up = arrows.filter(([path, target]) => layerOf(path) !== -1 && layerOf(target) > layerOf(path));
    expect(up.map((arrow) => arrow.join(' → '))).toEqual([]);
  });

  it('of one feature do not reach into another', () => {
    const feature = (path) => path.match(/^lib\/features\/([^/]+)/)?.[1];
    const across = arrows.filter(
      ([path, target]) => feature(path) && feature(target) && feature(path) !== feature(target),
    );
    expect(across.map((arrow) => arrow.join(' → '))).toEqual([]);
  });

  it('have no circle, not even between types', () => {
    expect(circlesOf(new Map([['a', ['b']], ['b', ['c']], ['c', ['b']]]))).toEqual(['b → c → b']);
    expect(circlesOf(graph)).toEqual([]);
  });
});

describe('modules', () => {
  it('are at most 400 lines', () => {
    expect(sources.filter((path) => read(path).split('\n').length > 400)).toEqual([]);
  });
});
