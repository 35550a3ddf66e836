export const meterText = {
  title: 'Used in this run',
  steps: 'model calls',
  tools: 'tool calls',
  tokens: 'tokens',
  time: 'working time',
  sats: 'sats in all',
  seconds: (n: number) => (n < 60 ? `${n.toFixed(1)} s` : `${Math.floor(n / 60)} min ${Math.round(n % 60)} s`),
  stopped: (limit: string) => `The run ended at its limit of ${limit.replace(/_/g, ' ')}.`,
} as const;
