// Bundles the page of one front end: node build.mjs FRONT FOLDER
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { compile, compileModule } from 'svelte/compiler';

const [front, folder] = process.argv.slice(2);
const ENTRIES = {
  react: '../../../examples/react_chat/chat.jsx',
  svelte: 'node/pages/svelte.js',
  'assistant-ui': 'node/pages/assistant-ui.jsx',
  copilotkit: 'copilotkit/page.jsx',
};

const svelte = {
  name: 'svelte',
  setup({ onLoad }) {
    onLoad({ filter: /\.svelte$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      return { contents: compile(source, { filename: basename(path), generate: 'client' }).js.code };
    });
    onLoad({ filter: /\.svelte\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      return { contents: compileModule(source, { filename: basename(path), generate: 'client' }).js.code };
    });
  },
};

await build({
  entryPoints: { [front]: join(import.meta.dirname, '..', ENTRIES[front]) },
  outdir: folder,
  bundle: true,
  splitting: true, // a page that takes seconds to load would come back after the run
  minify: true,
  format: 'esm',
  jsx: 'automatic',
  conditions: ['svelte', 'browser'],
  loader: { '.css': 'empty' },
  define: { 'process.env.NODE_ENV': '"production"' },
  plugins: [svelte],
  nodePaths: [join(import.meta.dirname, 'node_modules')], // the React page is an example, which has none here
  logLevel: 'error',
});
const page = `<!doctype html><meta charset="utf-8"><title>${front}</title><link rel="icon" href="data:,">
<div id="app"></div><script type="module" src="${front}.js"></script>\n`;
await writeFile(join(folder, `${front}.html`), page);
