import { expect, it } from 'vitest';
import { installed } from '$lib/extensions/installed';
import type { Panel } from '$lib/extensions/types';
import { tabsOf, tabWith } from './panel-tabs';

const names = (panels: readonly Panel[]) => tabsOf(panels).map(({ label }) => label);
const without = (...tabs: string[]) => installed.panels.filter(({ tab }) => !tabs.includes(tab));

it('there are at most three tabs, whatever is installed', () => {
  expect(names(installed.panels)).toEqual(['Work', 'Documents', 'Map']);
  expect(names(without('map', 'team'))).toEqual(['Work', 'Documents', 'Sources']);
  expect(names(without('map', 'team', 'sources'))).toEqual(['Work', 'Documents']);
});

it('a panel is found in its tab', () => {
  const tabs = tabsOf(without('map', 'team'));
  expect(tabWith(tabs, 'trace')?.id).toBe('work');
  expect(tabWith(tabs, 'reports')?.id).toBe('sources');
  expect(tabWith(tabs, 'map')?.id).toBe('work');
});
