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

describe('sources', () => {
  it('reach the browser’s storage by the one helper that survives its refusal', () => {
    const direct = sources.filter((path) => /\b(local|session)Storage\b/.test(read(path)));
    expect(direct).toEqual(['lib/browser-storage.ts']);
  });
});

describe('imports', () => {
  /** From the bottom up; the longest match counts. */
  const layers = [
    'lib/format.ts',
    'lib/text.ts',
    'lib/sha256.ts',
    'lib/invisible.ts',
    'lib/locks.ts',
    'lib/browser-storage.ts',
    'lib/download.ts',
    'lib/persistence.ts',
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
  ];
  const known = new Set(sources);

  function layerOf(path) {
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
    const form = new RegExp(`^${escaped.replaceAll('**', '.+').replaceAll('*', '[^/]+')}$`);
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
