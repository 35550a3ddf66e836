import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Pasos',
  empty: 'Aún no hay pasos. Cada paso que da el agente aparece aquí con su hora.',
  main: 'Agente principal',
  run: { started: 'Ejecución iniciada', completed: 'Ejecución terminada', waits: 'Esperando tu respuesta', stopped: 'Detenida' },
  model: 'Escribió',
  tool: 'Usó una herramienta',
  agent: 'Inició un subagente',
  ask: 'Te preguntó',
  error: 'Error',
  note: 'Nota',
  raw: 'Detalles',
};
