/** What all extensions add, in one list each, and how components reach it. */
import { getContext, setContext } from 'svelte';
import type { ClientTool } from '$lib/state/client-tools';
import type { Extension } from './types';

const KEY = Symbol('extensions');

export type Extensions = ReturnType<typeof collectExtensions>;

export function collectExtensions(extensions: readonly Extension[]) {
  return {
    panels: byOrder(extensions.flatMap((e) => e.panels ?? [])),
    sidebar: byOrder(extensions.flatMap((e) => e.sidebar ?? [])),
    pages: byOrder(extensions.flatMap((e) => e.pages ?? [])),
    settings: byOrder(extensions.flatMap((e) => e.settings ?? [])),
    threadActions: byOrder(extensions.flatMap((e) => e.threadActions ?? [])),
    notes: byOrder(extensions.flatMap((e) => e.notes ?? [])),
    decided: extensions.flatMap((e) => e.decided ?? []),
    bodies: extensions.flatMap((e) => e.bodies ?? []),
    runCards: extensions.flatMap((e) => e.runs ?? []),
    lines: byOrder(extensions.flatMap((e) => e.lines ?? [])),
    backups: extensions.flatMap((e) => (e.backup ? [e.backup] : [])),
    composerParts: extensions.flatMap((e) => e.composerParts ?? []),
    composerHeaders: extensions.flatMap((e) => e.composerHeaders ?? []),
    mentions: extensions.flatMap((e) => e.mentions ?? []),
    requestCards: new Map(extensions.flatMap((e) => e.requests ?? []).map((card) => [card.type, card])),
    clientTools: new Map<string, ClientTool>(extensions.flatMap((e) => e.clientTools ?? []).map((tool) => [tool.name, tool])),
    sharedTexts: extensions.flatMap((e) => (e.sharedTexts ? [e.sharedTexts] : [])),
    quoteOpeners: extensions.flatMap((e) => (e.openQuote ? [e.openQuote] : [])),
    quoteCiters: extensions.flatMap((e) => (e.citeQuote ? [e.citeQuote] : [])),
    starts: extensions.flatMap((e) => (e.start ? [e.start] : [])),
    leaves: extensions.flatMap((e) => (e.leave ? [e.leave] : [])),
  };
}

function byOrder<T extends { order: number }>(items: T[]): T[] {
  return items.sort((a, b) => a.order - b.order);
}

export function provideExtensions(extensions: Extensions): Extensions {
  return setContext(KEY, extensions);
}

export function useExtensions(): Extensions {
  return getContext<Extensions>(KEY);
}
