import { inLanguage } from '$lib/languages/texts';

export const text = inLanguage('features/trusted-sources/text:text', {
  label: 'Trusted sources',
  explanation: 'Values that stood in these sources when you trusted them need no approval in what you asked for.',
  none: 'You trust no source in this conversation.',
  stop: 'Stop trusting',
  stopLabel: (name: string) => `Stop trusting ${name}`,
  stopped: (name: string) => `No longer trusted: ${name}.`,
});
