import { inLanguage } from '$lib/languages/texts';

/** Follow-ups offered after an answer. */
export const quickText = inLanguage('components/chat/starters.text:quickText', {
  deeper: { label: 'Go deeper', words: 'Go deeper into this: ' },
  otherSide: { label: 'The other side', words: 'What would someone who disagrees say?' },
  shorter: { label: 'Shorter', words: 'Say it again in three sentences.' },
  evidence: { label: 'How do you know?', words: 'How do you know? Show me the evidence.' },
  hint: { label: 'A hint', words: 'Give me a hint, not the answer.' },
  standing: { label: 'Where are we?', words: 'Sum up where my argument stands and what is still open.' },
});

/** First words of a conversation. */
export const starterText = inLanguage('components/chat/starters.text:starterText', {
  document: {
    title: 'Work on a document',
    words: (document: string) => `Read ${document}. What is its strongest point and what is its weakest? Quote the passages you rely on.`,
  },
  tour: { title: 'Take the tour', words: 'Show me what you can do, step by step.' },
  teamTour: { title: 'See an approval', words: 'Show me how a change to a team file is approved and undone.' },
  argument: {
    title: 'Test an argument',
    words: 'I think cities should be car-free. Help me find the weakest point in my argument.',
  },
  otherSide: {
    title: 'Hear the other side',
    words: 'Make the strongest fair case against my view before I respond to it.',
  },
  question: {
    title: 'Start with a question',
    words: 'I want to write about free will but don’t know where to start. Ask me about what I need to clarify.',
  },
  plan: {
    title: 'Plan first, then act',
    words: 'Make a plan for a two-week reading course on the history of deep-sea diving, then save it as a file.',
  },
  views: {
    title: 'Compare two views',
    words: 'Use two helpers: one makes the case for nuclear power, the other against it. Then weigh both sides for me.',
  },
  research: {
    title: 'Research with sources',
    words: 'What is known about language models that run on a laptop? Show me the plan before you search.',
  },
  claim: {
    title: 'Check a claim',
    words: 'Is it true that the Great Barrier Reef has recovered? Quote what the sources say, word for word.',
  },
  bothSides: {
    title: 'See both sides',
    words: 'What speaks for a four-day week, and what against it? Give me the best sources on each side.',
  },
  order: {
    title: 'Put files in order',
    words: 'Look through the team files and suggest a clearer structure. Don’t change anything yet.',
  },
  brief: {
    title: 'Write a brief',
    words: 'Write a one-page brief from the team files for somebody new. Show it to me before you save it.',
  },
  consistency: {
    title: 'Find contradictions',
    words: 'Which team files contradict each other? Name the places and propose what to change.',
  },
  sampleResearch: { title: 'Research with sources', words: 'How deep did the bathysphere go?' },
  sampleClaim: { title: 'Check a claim', words: 'Who designed the bathysphere, and how was it made?' },
  sampleDetail: { title: 'Find a detail', words: 'How much did the bathysphere weigh?' },
});
