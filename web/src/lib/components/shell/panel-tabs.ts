/** The tabs of the panel: Work, Documents, and the agent's own. */
import type { Panel } from '$lib/extensions/types';
import { text } from '$lib/text';

export interface PanelTab {
  id: string;
  label: string;
  icon: Panel['icon'];
  sections: readonly Panel[];
}

const COMMON = ['work', 'documents'];

/** At most three: of an agent's own tabs, the first has its place. */
export function tabsOf(panels: readonly Panel[]): PanelTab[] {
  const own = panels.find((panel) => !COMMON.includes(panel.tab))?.tab;
  return [...COMMON, ...(own === undefined ? [] : [own])].flatMap((id) => {
    const sections = panels.filter((panel) => panel.tab === id);
    const first = sections[0];
    return first ? [{ id, label: text.shell.tabs[id] ?? first.label(), icon: first.icon, sections }] : [];
  });
}

/** The tab that has a panel; the first one, where the panel is not shown now. */
export const tabWith = (tabs: readonly PanelTab[], panel: string): PanelTab | undefined =>
  tabs.find(({ sections }) => sections.some(({ id }) => id === panel)) ?? tabs[0];
