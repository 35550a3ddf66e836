// Writes THIRD_PARTY.txt beside the built app: the licence of every package that may be part of it.
//   node scripts/licenses.mjs [FILE]
import { readFileSync, readdirSync, writeFileSync, existsSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const target = process.argv[2] ?? new URL('../src/bathysphere/server/static/THIRD_PARTY.txt', root);

const ISC = `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is
hereby granted, provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING
ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL,
DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS,
WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE
USE OR PERFORMANCE OF THIS SOFTWARE.`;
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
const STANDARD = { MIT, ISC };

/** The texts that a package ships; of one that ships none, the standard text of its licence. */
function licence(folder, about) {
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  if (names.length > 0) {
    return names.sort().map((name) => readFileSync(new URL(name, folder), 'utf8').trim()).join('\n\n');
  }
  const standard = STANDARD[about.license];
  if (!standard) throw new Error(`${about.name}: no licence file, and no standard text for ${about.license}`);
  const author = typeof about.author === 'string' ? about.author : about.author?.name;
  return `Copyright (c) ${author ?? `the authors of ${about.name}`}\n\n${standard}`;
}

const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8'));
const parts = Object.entries(packages)
  .filter(([path, entry]) => path !== '' && !entry.dev)
  .map(([path]) => new URL(`${path}/`, root))
  .filter((folder) => existsSync(folder)) // optional packages for other machines are not installed
  .map((folder) => {
    const about = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
    return { title: `${about.name} ${about.version} (${about.license})`, text: licence(folder, about) };
  })
  .sort((one, other) => (one.title < other.title ? -1 : 1));
const rule = '─'.repeat(100);
const intro = `The browser app contains code of these ${parts.length} packages, each under its own licence.`;
writeFileSync(target, `${intro}\n\n${parts.map(({ title, text }) => `${rule}\n${title}\n${rule}\n\n${text}\n`).join('\n')}`);
console.log(`licences of ${parts.length} packages`);
