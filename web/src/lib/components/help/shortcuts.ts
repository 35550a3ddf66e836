/** Keys that work everywhere, and the list that the help sheet shows. */
import { flushSync } from 'svelte';
import type { AppState } from '$lib/state/app.svelte';
import type { helpText } from './text';

export interface Shortcut {
  keys: string[];
  does: keyof typeof helpText;
}

const MOD = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl';

export const list: Shortcut[] = [
  { keys: [MOD, 'Shift', 'O'], does: 'begin' },
  { keys: [MOD, 'K'], does: 'search' },
  { keys: ['/'], does: 'write' },
  { keys: ['Enter'], does: 'send' },
  { keys: ['Shift', 'Enter'], does: 'line' },
  { keys: ['Esc'], does: 'stop' },
  { keys: [MOD, 'B'], does: 'sidebar' },
  { keys: [MOD, '.'], does: 'panels' },
  { keys: ['Alt', '↑ ↓'], does: 'requests' },
  { keys: ['1', '…', '9'], does: 'choose' },
  { keys: ['?'], does: 'help' },
];

export function shortcuts(app: AppState): (event: KeyboardEvent) => void {
  const { layout } = app;
  const withMod: Record<string, () => unknown> = {
    k: () => {
      layout.toggleSidebar(true);
      focus('search-threads');
    },
    b: () => layout.toggleSidebar(),
    '.': () => app.route.page === null && layout.toggleAside(),
  };
  const alone: Record<string, () => void> = {
    '/': () => focus('composer'),
    '?': () => layout.showHelp(true),
  };
  return (event) => {
    const mod = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (key === 'escape' && !document.querySelector('dialog[open], :popover-open')) {
      if (!isTyping(event) || (event.target as HTMLElement).id === 'composer') void app.stop();
      return;
    }
    let run: (() => unknown) | undefined;
    if (mod && event.shiftKey && key === 'o') run = () => app.begin();
    else if (mod && !event.shiftKey && !event.altKey) run = withMod[key];
    else if (!mod && !event.altKey && !isTyping(event)) run = alone[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  };
}

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** At once: what is typed next, however fast, belongs there. */
function focus(id: string): void {
  flushSync();
  document.getElementById(id)?.focus();
}
