import { decimal } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { meterText as english } from './meter.text';

const counted = (one: string, many: string) => (n: number) => (n === 1 ? one : many);

const limits: Record<string, string> = {
  model_calls: 'llamadas al modelo',
  tool_calls: 'llamadas a herramientas',
  tokens: 'tokens',
  seconds: 'tiempo',
  budget: 'presupuesto',
};

export const meterText: Translation<typeof english> = {
  title: 'Usado en esta ejecución',
  modelCalls: counted('llamada al modelo', 'llamadas al modelo'),
  toolCalls: counted('llamada a una herramienta', 'llamadas a herramientas'),
  tokens: counted('token', 'tokens'),
  time: 'tiempo de trabajo',
  sats: counted('sat en total', 'sats en total'),
  seconds: (n) => (n < 60 ? `${decimal(n)} s` : `${Math.floor(n / 60)} min ${Math.round(n % 60)} s`),
  stopped: (limit) => `La ejecución se detuvo al alcanzar su límite de ${limits[limit] ?? limit.replace(/_/g, ' ')}.`,
};
