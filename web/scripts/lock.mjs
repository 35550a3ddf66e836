// Rewrites package-lock.json: with every platform's optional packages, without registry addresses.
// (npm's own option for that drops the versions of packages that are not for this machine.)
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'bathysphere-lock-'));
copyFileSync('package.json', join(folder, 'package.json'));
const options = ['--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'];
execFileSync('npm', ['install', '--omit-lockfile-registry-resolved=false', ...options], { cwd: folder });
const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
for (const entry of Object.values(lock.packages)) {
  delete entry.resolved;
  delete entry.funding;
}
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
rmSync(folder, { recursive: true });
