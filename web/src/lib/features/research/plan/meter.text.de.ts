import { decimal } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { meterText as english } from './meter.text';

const counted = (one: string, many: string) => (n: number) => (n === 1 ? one : many);

const limits: Record<string, string> = {
  model_calls: 'Modellaufrufe',
  tool_calls: 'Werkzeugaufrufe',
  tokens: 'Tokens',
  seconds: 'Arbeitszeit',
  budget: 'Budget',
};

export const meterText: Translation<typeof english> = {
  title: 'In diesem Lauf verbraucht',
  modelCalls: counted('Modellaufruf', 'Modellaufrufe'),
  toolCalls: counted('Werkzeugaufruf', 'Werkzeugaufrufe'),
  tokens: counted('Token', 'Tokens'),
  time: 'Arbeitszeit',
  sats: counted('sat insgesamt', 'sats insgesamt'),
  seconds: (n) => (n < 60 ? `${decimal(n)}\u00a0s` : `${Math.floor(n / 60)}\u00a0min ${Math.round(n % 60)}\u00a0s`),
  stopped: (limit) => `Der Lauf hat eine Grenze erreicht und wurde angehalten: ${limits[limit] ?? limit.replace(/_/g, ' ')}.`,
};
