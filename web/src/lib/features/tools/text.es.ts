import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Herramientas',
  hint: 'Los agentes pueden usar herramientas de estos servidores MCP. Tu operador elige los servidores.',
  none: 'Aquí no hay servidores MCP configurados.',
  loading: 'Conectando con los servidores…',
  refresh: 'Actualizar',
  states: { ready: 'Conectado', connecting: 'Conectando', failed: 'Inaccesible', idle: 'Sin conectar' },
  count: (count) => plural(count, 'herramienta', 'herramientas'),
  leftOut: (count) => plural(count, 'herramienta omitida: demasiado grande', 'herramientas omitidas: demasiado grandes'),
  asks: 'Pregunta antes',
  reads: 'Solo lee',
  allowed: 'Permitidas siempre en esta conversación',
  askAgain: 'Volver a preguntar',
  askAgainLabel: (name) => `Volver a preguntar antes de usar ${name}`,
  revoked: (name) => `${name} vuelve a necesitar tu aprobación.`,
};
