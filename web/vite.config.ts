import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SERVER = process.env['BATHYSPHERE_URL'] ?? 'http://127.0.0.1:8123';
const API = ['assistants', 'threads', 'runs', 'store', 'info', 'ok', 'workspace', 'payments', 'push', 'api'];

/** Writes sw.js with the list of files of this build, so that the whole app works offline. */
function serviceWorker(): Plugin {
  return {
    name: 'service-worker',
    apply: 'build',
    generateBundle(_, bundle) {
      const built = Object.keys(bundle).filter((name) => !/\.map$|^index\.html$|^build\.json$/.test(name));
      const isHeavy = (name: string) => /\.(wasm|onnx|woff2)$|\/tokenizer|\/mermaid|\/language\./.test(name);
      const files = [...built.filter((name) => !isHeavy(name)), ...readdirSync(here('./public'))];
      const paths = (names: string[]) => names.map((name) => `/${name}`);
      const source = readFileSync(here('./src/sw.js'), 'utf8')
        .replace('__FILES__', JSON.stringify(['/', ...paths(files)]))
        .replace('__WEIGHTS__', JSON.stringify(paths(built.filter(isHeavy))))
        .replace('__BUILD__', JSON.stringify(fingerprint(files)));
      this.emitFile({ type: 'asset', fileName: 'sw.js', source });
    },
  };
}

/** KaTeX names each font in three formats; every browser that runs the app reads the first. */
function onlyWoff2(): Plugin {
  return {
    name: 'only-woff2',
    enforce: 'pre',
    transform: (code, id) => (id.includes('/katex/dist/') && id.endsWith('.css') ? code.replace(/,url\([^)]+\.(?:woff|ttf)\) format\("[a-z]+"\)/g, '') : null),
  };
}

function fingerprint(names: string[]): string {
  let hash = 5381;
  for (const character of [...names].sort().join('|')) hash = (hash * 33 + character.charCodeAt(0)) >>> 0;
  return hash.toString(36);
}

export default defineConfig({
  plugins: [svelte(), onlyWoff2(), serviceWorker()],
  resolve: { alias: { $lib: here('./src/lib') } },
  build: {
    outDir: here('../src/bathysphere/server/static'),
    emptyOutDir: true,
    assetsInlineLimit: 0, // the policy allows no data: scripts, styles or fonts
    modulePreload: { polyfill: false },
    target: 'es2022',
    manifest: 'build.json',
  },
  worker: { format: 'es' },
  server: { proxy: Object.fromEntries(API.map((name) => [`/${name}`, SERVER])) },
});
