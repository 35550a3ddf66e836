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

describe('imports', () => {
  const layers = [
    'lib/text.ts',
    'lib/sha256.ts',
    'lib/protocol',
    'lib/markdown',
    'lib/stream',
    'lib/search',
    'lib/files',
    'lib/argument',
    'lib/research',
    'lib/wallet',
    'lib/extend',
    'lib/state',
    'lib/components',
    'lib/features',
  ];
  const layerOf = (path) => layers.findIndex((layer) => path.startsWith(layer));
  const importsOf = (path) =>
    [...read(path).matchAll(/^\s*import (?!type)[^;]*?from '([^']+)'/gm)].map(([, target]) => {
      if (target.startsWith('$lib/')) return target.replace('$lib/', 'lib/');
      return target.startsWith('.') ? normalize(join(dirname(path), target)) : target;
    });

  it('have a layer for every file of lib', () => {
    expect(sources.filter((path) => path.startsWith('lib/') && layerOf(path) === -1)).toEqual([]);
  });

  it('point down: text, protocol, stream, search, files, state, components, features', () => {
    const up = [];
    for (const path of sources) {
      for (const target of importsOf(path)) {
        if (layerOf(path) !== -1 && layerOf(target) > layerOf(path)) up.push(`${path} → ${target}`);
      }
    }
    expect(up).toEqual([]);
  });

  it('of one feature do not reach into another', () => {
    const feature = (path) => path.match(/^lib\/features\/([^/]+)/)?.[1];
    const across = sources.flatMap((path) =>
      importsOf(path)
        .filter((target) => feature(target) && feature(target) !== feature(path))
        .map((target) => `${path} → ${target}`),
    );
    expect(across).toEqual([]);
  });
});
