/** First words for somebody who does not know yet what to ask; by the agent they are for. */
import Compass from '@lucide/svelte/icons/compass';
import FileSearch from '@lucide/svelte/icons/file-search';
import ListChecks from '@lucide/svelte/icons/list-checks';
import MessagesSquare from '@lucide/svelte/icons/messages-square';
import Scale from '@lucide/svelte/icons/scale';
import ShieldCheck from '@lucide/svelte/icons/shield-check';
import type { Component } from 'svelte';
import { starterText } from './starters.text';

export interface Starter {
  title: string;
  words: string;
  icon: Component<{ size?: number | string }>;
  agents: readonly string[];
  /** Only where no model is set up (`demo`), or only where one is (`model`). */
  only?: 'demo' | 'model';
}

/** What can be asked of an agent here: without a model only what the sample pages answer. */
export function startersFor(agent: string, isDemo: boolean): readonly Starter[] {
  const here = isDemo ? 'demo' : 'model';
  return starters.filter(({ agents, only }) => agents.includes(agent) && (only ?? here) === here);
}

const icons = { compass: Compass, file: FileSearch, list: ListChecks, talk: MessagesSquare, scale: Scale, shield: ShieldCheck };

export const starters: readonly Starter[] = starterText.map(({ icon, ...starter }) => ({
  ...starter,
  icon: icons[icon],
}));
