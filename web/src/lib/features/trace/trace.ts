/** The trace: steps seen on the stream, and the reasoning that an agent keeps in its state. */
import { isFields } from '$lib/protocol/fields';
import { sentOut } from '$lib/stream/questions';
import { ROOT, type Step, type StepKind, type View } from '$lib/stream/view';
import { gistOf, titleOf } from '$lib/components/activity/gist';
import { text } from './text';

export interface Line {
  id: string;
  at: number;
  kind: StepKind;
  who: string;
  title: string;
  words: string;
  raw: string | null;
}

export function traceOf(view: View): Line[] {
  const steps = view.steps.filter(isTelling(view)).map((step): Line => {
    const agent = view.agents[step.agent];
    const sent = agent && agent.key !== ROOT ? sentOut(view, agent) : null;
    const call = step.call === null ? null : view.calls[step.call];
    const isRun = step.kind === 'run';
    return {
      id: step.id,
      at: step.at,
      kind: step.kind,
      who: sent?.by ? titleOf(sent.by) : text.main,
      title: isRun ? (text.run[step.words] ?? step.words) : call ? titleOf(call.name) : text[step.kind],
      words: wordsOf(step.kind, step.words, call ? gistOf(call) : null, sent?.task ?? null),
      raw: call?.args ? JSON.stringify(call.args, null, 2) : null,
    };
  });
  return [...steps, ...reasoningOf(view)].sort((a, b) => a.at - b.at);
}

/** A model that only called tools said nothing; who was sent out is told by the subagent's own line. */
function isTelling(view: View): (step: Step) => boolean {
  return ({ kind, words, call }) =>
    !(kind === 'model' && words.trim() === '') && !(call !== null && view.calls[call]?.name === 'task');
}

function wordsOf(kind: StepKind, words: string, gist: string | null, task: string | null): string {
  if (kind === 'run') return '';
  if (kind === 'tool' || kind === 'ask') return gist ?? '';
  return kind === 'agent' ? (task ?? words) : words;
}

function reasoningOf(view: View): Line[] {
  const entries = view.agents[ROOT]!.values['reasoning'];
  if (!Array.isArray(entries)) return [];
  return entries.filter(isFields).map((entry, index) => ({
    id: `reasoning-${index}-${String(entry['timestamp'])}`,
    at: Date.parse(String(entry['timestamp'])) || 0,
    kind: 'note',
    who: String(entry['node'] ?? '').replace(/_/g, ' '),
    title: text.note,
    words: String(entry['summary'] ?? ''),
    raw: typeof entry['raw_thought'] === 'string' ? entry['raw_thought'] : null,
  }));
}
