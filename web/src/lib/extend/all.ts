/** Everything that the folders of `features` add, in one list each. */
import type { ClientTool, Extension } from './extension';

const found = import.meta.glob<{ default: Extension }>('../features/*/index.ts', { eager: true });
const extensions = Object.keys(found)
  .sort()
  .map((path) => found[path]!.default);

const byOrder = <T extends { order: number }>(items: T[]) => items.sort((a, b) => a.order - b.order);

export const panels = byOrder(extensions.flatMap((e) => e.panels ?? []));
export const sidebar = byOrder(extensions.flatMap((e) => e.sidebar ?? []));
export const pages = byOrder(extensions.flatMap((e) => e.pages ?? []));
export const notes = byOrder(extensions.flatMap((e) => e.notes ?? []));
export const bodies = extensions.flatMap((e) => e.bodies ?? []);
export const runCards = extensions.flatMap((e) => e.runs ?? []);
export const lines = byOrder(extensions.flatMap((e) => e.lines ?? []));
export const backups = extensions.flatMap((e) => (e.backup ? [e.backup] : []));
export const composerActions = extensions.flatMap((e) => e.composer ?? []);
export const composerParts = extensions.flatMap((e) => e.composerParts ?? []);
export const requestCards = new Map(
  extensions.flatMap((e) => e.requests ?? []).map((card) => [card.type, card]),
);
export const clientTools = new Map<string, ClientTool>(
  extensions.flatMap((e) => e.clientTools ?? []).map((tool) => [tool.name, tool]),
);
export const starts = extensions.flatMap((e) => (e.start ? [e.start] : []));
