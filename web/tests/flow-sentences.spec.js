import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { flowReasons, sentenceOf } from '../src/lib/components/requests/flow-reasons';

const file = join(import.meta.dirname, '..', '..', 'tests', 'unit', 'flow', 'sentences.json');
const examples = JSON.parse(readFileSync(file, 'utf8'));

it.each(examples)('a reason is the sentence that the terminal shows: $sentence', ({ reason, sentence }) => {
  expect(flowReasons({ flow: { reasons: [reason] } }).map(sentenceOf)).toEqual([sentence]);
});
