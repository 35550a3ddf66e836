/** First words for somebody who does not know yet what to ask; by the agent they are for. */
import Compass from '@lucide/svelte/icons/compass';
import FileSearch from '@lucide/svelte/icons/file-search';
import ListChecks from '@lucide/svelte/icons/list-checks';
import MessagesSquare from '@lucide/svelte/icons/messages-square';
import Scale from '@lucide/svelte/icons/scale';
import ShieldCheck from '@lucide/svelte/icons/shield-check';
import type { Component } from 'svelte';
import { quickText, starterText } from './starters.text';

/** What is set up here, as far as first words depend on it. */
export interface Setting {
  /** No model is set up: the tour answers. */
  isDemo: boolean;
  /** How a question names a document of this browser that the agent can read. */
  document?: string;
}

export interface Starter {
  title: string;
  words: string;
  icon: Component<{ size?: number | string }>;
  /** Whom it is for. */
  agent: string;
}

interface Offer {
  text: keyof typeof starterText;
  icon: Starter['icon'];
  agents: readonly string[];
  /** Only where no model is set up (`demo`), or only where one is (`model`). */
  only?: 'demo' | 'model';
}

/** As many as are shown. */
const MOST = 3;
/** By an agent's first cards people learn what it is for. */
const OFFERS: readonly Offer[] = [
  { text: 'document', icon: FileSearch, agents: ['simple', 'tutor', 'research'], only: 'model' },
  { text: 'tour', icon: Compass, agents: ['simple'], only: 'demo' },
  { text: 'teamTour', icon: ListChecks, agents: ['workspace'], only: 'demo' },
  { text: 'plan', icon: ListChecks, agents: ['simple'], only: 'model' },
  { text: 'views', icon: Scale, agents: ['simple'], only: 'model' },
  { text: 'argument', icon: Scale, agents: ['tutor'] },
  { text: 'otherSide', icon: MessagesSquare, agents: ['tutor'], only: 'model' },
  { text: 'question', icon: Compass, agents: ['tutor', 'simple'], only: 'model' },
  { text: 'order', icon: ListChecks, agents: ['workspace'], only: 'model' },
  { text: 'brief', icon: FileSearch, agents: ['workspace'], only: 'model' },
  { text: 'consistency', icon: Scale, agents: ['workspace'], only: 'model' },
  { text: 'research', icon: ShieldCheck, agents: ['research'], only: 'model' },
  { text: 'claim', icon: FileSearch, agents: ['research'], only: 'model' },
  { text: 'bothSides', icon: Scale, agents: ['research'], only: 'model' },
  { text: 'sampleResearch', icon: ShieldCheck, agents: ['research'], only: 'demo' },
  { text: 'sampleClaim', icon: FileSearch, agents: ['research'], only: 'demo' },
  { text: 'sampleDetail', icon: Scale, agents: ['research'], only: 'demo' },
];

/**
 * Three first words for an agent that work with what is set up here.
 *
 * Without a model there is little to ask each agent, so what the tour shows of the others follows.
 */
export function startersFor(agent: string, others: readonly string[], setting: Setting): Starter[] {
  const own = offersOf(agent, setting);
  if (!setting.isDemo || own.length === 0) return own.slice(0, MOST);
  const rest = others.filter((name) => name !== agent).flatMap((name) => offersOf(name, setting).slice(0, 1));
  return [...own, ...rest].slice(0, MOST);
}

function offersOf(agent: string, { isDemo, document }: Setting): Starter[] {
  const here = isDemo ? 'demo' : 'model';
  const isOffered = ({ text, agents, only = here }: Offer) =>
    agents.includes(agent) && only === here && (text !== 'document' || document !== undefined);
  return OFFERS.filter(isOffered).map(({ text, icon }) => {
    const { title, words } = starterText[text];
    return { title, words: typeof words === 'string' ? words : words(document ?? ''), icon, agent };
  });
}

const FOLLOW_UPS: Record<keyof typeof quickText, readonly string[]> = {
  deeper: ['simple', 'research', 'workspace'],
  otherSide: ['simple', 'tutor'],
  shorter: ['simple', 'research'],
  evidence: ['simple', 'research', 'tutor'],
  hint: ['tutor'],
  standing: ['tutor'],
};

/** What can be asked of an agent about its answer. */
export function followUpsFor(agent: string) {
  return Object.entries(quickText).flatMap(([id, quick]) => (FOLLOW_UPS[id as keyof typeof quickText].includes(agent) ? [quick] : []));
}
