import { decimal } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';

const counted = (one: string, many: string) => (n: number) => (n === 1 ? one : many);

export const meterText = inLanguage('features/research/plan/meter.text:meterText', {
  title: 'Used in this run',
  modelCalls: counted('model call', 'model calls'),
  toolCalls: counted('tool call', 'tool calls'),
  tokens: counted('token', 'tokens'),
  time: 'working time',
  sats: counted('sat in total', 'sats in total'),
  seconds: (n: number) => (n < 60 ? `${decimal(n)} s` : `${Math.floor(n / 60)} min ${Math.round(n % 60)} s`),
  stopped: (limit: string) => `The run stopped at its limit for ${limit.replace(/_/g, ' ')}.`,
});
