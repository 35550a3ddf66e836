// Prints what the first visit transfers (gzip): the entry, what it imports at once, and its styles.
// Lazy parts are not in it. The test in tests/e2e holds the limit.
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const folder = new URL('../../src/bathysphere/server/static/', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('build.json', folder), 'utf8'));
const files = new Set(['index.html']);
const visit = (key) => {
  const chunk = manifest[key];
  if (files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const style of chunk.css ?? []) files.add(style);
  for (const name of chunk.imports ?? []) visit(name);
};
visit('index.html');
const sizes = {};
for (const name of files) sizes[name] = gzipSync(readFileSync(new URL(name, folder))).length;
const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0);
writeFileSync(new URL('first-load.json', folder), JSON.stringify({ bytes, sizes }));
console.log(`first load: ${(bytes / 1000).toFixed(1)} kB gzip in ${files.size} files`);
