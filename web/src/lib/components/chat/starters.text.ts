/** What may be said after an answer, with one touch. */
export const quickText = [
  { label: 'Go deeper', words: 'Go deeper into this: ', agents: ['simple', 'research', 'workspace'] },
  { label: 'The other side', words: 'What would someone who disagrees say?', agents: ['simple', 'tutor'] },
  { label: 'Shorter', words: 'Say it again in three sentences.', agents: ['simple', 'research'] },
  { label: 'How do you know?', words: 'How do you know? Show me what it rests on.', agents: ['simple', 'research', 'tutor'] },
  { label: 'A hint', words: 'Give me a hint, not the answer.', agents: ['tutor'] },
  { label: 'Where are we?', words: 'Sum up where my argument stands and what is open.', agents: ['tutor'] },
] as const;

export const starterText = [
  {
    icon: 'scale',
    title: 'Test an argument',
    words: 'I believe that cities should be free of cars. Help me find the weakest point of my argument.',
    agents: ['tutor', 'simple'],
  },
  {
    icon: 'talk',
    title: 'Hear the other side',
    words: 'Give me the strongest case against my view, fairly, before I answer it.',
    agents: ['tutor'],
  },
  {
    icon: 'compass',
    title: 'Begin with a question',
    words: 'I want to write about free will and do not know where to begin. Ask me what I need to be clear about.',
    agents: ['tutor', 'simple'],
  },
  {
    icon: 'list',
    title: 'Sharpen a word',
    words: 'I keep using the word “fair”. Test what I mean by it with cases where it breaks.',
    agents: ['tutor'],
  },
  {
    icon: 'list',
    title: 'Plan first, then do',
    words: 'Make a plan for a two-week reading course on the history of deep-sea diving, then write it as a file.',
    agents: ['simple', 'workspace'],
  },
  {
    icon: 'file',
    title: 'Compare two things',
    words: 'Send out two helpers: one makes the case for nuclear power, one against. Then weigh them for me.',
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
