/** Opens the panel on what has just appeared in it. */
import { untrack } from 'svelte';
import type { Panel } from '$lib/extensions/types';
import type { AppState } from '$lib/state/app.svelte';

export function followContent(app: AppState, panels: readonly Panel[]): void {
  let thread: string | null = null;
  let known: readonly string[] = [];
  /** What a conversation had before this visit did not appear just now. */
  let isOld = false;
  const isFilled = (panel: Panel) => (panel.isShown?.(app) ?? true) && (panel.isFilled?.(app) ?? false);
  $effect(() => {
    const { id } = app.conversation;
    const filled = panels.filter(isFilled).map((panel) => panel.id);
    untrack(() => {
      if (id !== thread) {
        isOld = app.route.threadId !== null;
        app.layout.settle({ isNew: !isOld });
        [thread, known] = [id, []];
      }
      const fresh = filled.find((panel) => !known.includes(panel));
      known = filled;
      if (fresh === undefined) return;
      const { layout } = app;
      layout.appear(isOld && (layout.aside || filled.includes(layout.panel)) ? layout.panel : fresh);
      isOld = false;
    });
  });
}
