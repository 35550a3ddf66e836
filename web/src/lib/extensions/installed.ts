/** The extensions of this build: every folder of `features`. */
import { collectExtensions } from './registry';
import type { Extension } from './types';

const found = import.meta.glob<{ default: Extension }>('../features/*/index.ts', { eager: true });

export const installed = collectExtensions(
  Object.keys(found)
    .sort()
    .map((path) => found[path]!.default),
);
