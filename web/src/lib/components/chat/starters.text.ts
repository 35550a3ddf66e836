/** Follow-ups offered after an answer. */
export const quickText = [
  { label: 'Go deeper', words: 'Go deeper into this: ', agents: ['simple', 'research', 'workspace'] },
  { label: 'The other side', words: 'What would someone who disagrees say?', agents: ['simple', 'tutor'] },
  { label: 'Shorter', words: 'Say it again in three sentences.', agents: ['simple', 'research'] },
  { label: 'How do you know?', words: 'How do you know? Show me the evidence.', agents: ['simple', 'research', 'tutor'] },
  { label: 'A hint', words: 'Give me a hint, not the answer.', agents: ['tutor'] },
  { label: 'Where are we?', words: 'Sum up where my argument stands and what is still open.', agents: ['tutor'] },
] as const;

export const starterText = [
  {
    icon: 'scale',
    title: 'Test an argument',
    words: 'I think cities should be car-free. Help me find the weakest point in my argument.',
    agents: ['tutor', 'simple'],
  },
  {
    icon: 'talk',
    title: 'Hear the other side',
    words: 'Make the strongest fair case against my view before I respond to it.',
    agents: ['tutor'],
  },
  {
    icon: 'compass',
    title: 'Start with a question',
    words: 'I want to write about free will but don’t know where to start. Ask me about what I need to clarify.',
    agents: ['tutor', 'simple'],
  },
  {
    icon: 'list',
    title: 'Sharpen a definition',
    words: 'I keep using the word “fair”. Test what I mean by it with cases where it breaks down.',
    agents: ['tutor'],
  },
  {
    icon: 'list',
    title: 'Plan first, then act',
    words: 'Make a plan for a two-week reading course on the history of deep-sea diving, then save it as a file.',
    agents: ['simple', 'workspace'],
  },
  {
    icon: 'file',
    title: 'Compare two views',
    words: 'Use two helpers: one makes the case for nuclear power, the other against it. Then weigh both sides for me.',
    agents: ['simple'],
  },
  {
    icon: 'shield',
    title: 'Research with sources',
    words: 'What is known about language models that run on a laptop? Show me the plan before you search.',
    agents: ['research'],
    only: 'model',
  },
  {
    icon: 'file',
    title: 'Check a claim',
    words: 'Is it true that the Great Barrier Reef has recovered? Quote what the sources say, word for word.',
    agents: ['research'],
    only: 'model',
  },
  {
    icon: 'shield',
    title: 'Research with sources',
    words: 'How deep did the bathysphere go?',
    agents: ['research'],
    only: 'demo',
  },
  {
    icon: 'file',
    title: 'Check a claim',
    words: 'Who designed the bathysphere, and how was it made?',
    agents: ['research'],
    only: 'demo',
  },
] as const;
