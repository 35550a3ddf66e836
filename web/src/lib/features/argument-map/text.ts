import type { Bond, Kind, Status } from './map';
import { inLanguage } from '$lib/languages/texts';

export const mapText = inLanguage('features/argument-map/text:mapText', {
  label: 'Map',
  empty: 'No argument map yet. Your argument is mapped here as you talk. Nothing counts as yours until you accept it.',
  drawing: 'Argument map',
  tree: 'Argument map as a tree',
  views: 'View',
  asDrawing: 'Drawing',
  asList: 'List',
  zoom: 'Zoom',
  points: 'Points',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  fit: 'Fit',
  zoomHint: 'Arrow keys move between points; plus and minus zoom, 0 fits the map.',
  add: 'Add a point',
  addIt: 'Add',
  kind: 'Kind',
  point: 'Your point, in one sentence',
  targetOf: { supports: 'Supports', attacks: 'Attacks', answers: 'Answers' } as Record<Bond, string>,
  noTarget: 'Nothing yet',
  reword: 'Reword',
  rewordIt: 'Save wording',
  cancel: 'Cancel',
  withdraw: 'Remove',
  export: 'Export',
  png: 'PNG image',
  markdown: 'Markdown',
  argdown: 'Argdown',
  title: 'Argument map',
  noImage: 'The image could not be made.',
  larger: 'Expand',
  close: 'Close',
  kinds: { claim: 'Claim', premise: 'Premise', evidence: 'Evidence', objection: 'Objection', reply: 'Reply' } as Record<Kind, string>,
  bonds: { supports: 'supports', attacks: 'attacks', answers: 'answers' } as Record<Bond, string>,
  you: 'you',
  by: (who: string) => `from ${who}`,
  again: 'shown above',
  takeBack: 'Undo',
  why: 'Reason (sent to the tutor)',
  toMessage: 'Go to message',
  toFile: 'Go to document',
  gone: 'This message is no longer in the conversation.',
  noFile: 'This document is no longer available.',
  refused: 'Rejected',
  open: 'Still open',
  unsent: (n: number) => (n === 1 ? '1 change will be sent with your next message.' : `${n} changes will be sent with your next message.`),
  tell: 'Send to the tutor now',
  addWords: (kind: Kind, words: string) => `I add ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}: ${words}`,
  bearing: (words: string, bond: string, target: string) => `${words}, which ${bond} ${target}`,
  rewordWords: (old: string, words: string) => `I would rather say ${words} than ${old}`,
  reworded: (words: string) => `Reworded by the person: ${words}`,
  because: (words: string, why: string) => `${words} (${why})`,
  quoted: (words: string) => `“${words}”`,
  review: 'Which of these do you agree with?',
  reason: 'Anything to rephrase? (optional)',
  send: 'Send',
  moves: {
    clarify_term: 'Clarifies a term',
    ask_premise: 'Asks for the premise behind it',
    ask_evidence: 'Asks for evidence',
    test_implication: 'Tests what follows',
    counter_example: 'Counter-example',
    steelman: 'Strongest opposing case',
    summarise: 'Sums up',
    concede: 'Concedes a point',
    hint: 'Hint',
    tell: 'Explains',
    work: 'Working on it',
  } as Record<string, string>,
  rung: (n: number) => `${n} of 3`,
  chosenBy: { model: 'Chosen by the tutor.', rule: 'Chosen by a rule.', person: 'You asked for this.' } as Record<string, string>,
  onMap: 'Show on map',
  misfit: 'The wording does not match this move.',
});

interface Verdicts {
  accept: string;
  refuse: string;
  status: Record<Status, string>;
  /** What the person says when they decide. */
  say: Record<Status, (words: string) => string>;
}

export const verdictText = inLanguage('features/argument-map/text:verdictText', {
  statement: {
    accept: 'I hold this',
    refuse: 'I don’t',
    status: { proposed: 'proposed', accepted: 'held', refused: 'not held' },
    say: {
      accepted: (words) => `I hold: ${words}`,
      refused: (words) => `I don’t hold: ${words}`,
      proposed: (words) => `I am no longer sure about: ${words}`,
    },
  },
  objection: {
    accept: 'Worth answering',
    refuse: 'Dismiss',
    status: { proposed: 'proposed', accepted: 'worth answering', refused: 'dismissed' },
    say: {
      accepted: (words) => `Worth answering: ${words}`,
      refused: (words) => `I dismiss the objection ${words}`,
      proposed: (words) => `I am no longer sure whether this is worth answering: ${words}`,
    },
  },
} satisfies Record<string, Verdicts>);

/** The words for a decision: a statement is held or not, an objection is worth answering or dismissed. */
export function verdictsOf(kind: Kind): Verdicts {
  return kind === 'objection' ? verdictText.objection : verdictText.statement;
}
