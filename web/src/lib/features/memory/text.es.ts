import { moment, plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  label: 'Memoria',
  use: 'Permitir que los agentes recuerden',
  hint: 'Los agentes guardan notas breves sobre ti y las leen en todas las conversaciones. Las notas se envían al modelo con cada mensaje. Las demás personas no pueden verlas.',
  off: 'La memoria está desactivada en este servidor. Aún puedes leer y eliminar tus notas.',
  paused: 'Mientras esté desactivada, los agentes no ven ni escriben notas.',
  notes: (count, most) => `${plural(count, 'nota', 'notas')} de ${most}`,
  empty: 'Aún no hay notas. Los agentes escriben una cuando les pides que recuerden algo.',
  by: { agent: 'Escrita por un agente', person: 'Escrita por ti' },
  when: (date) => (date ? moment(date) : ''),
  edit: (name) => `Editar ${name}`,
  remove: (name) => `Eliminar ${name}`,
  note: (name) => `Texto de ${name}`,
  save: 'Guardar',
  cancel: 'Cancelar',
  left: (count) => `${count === 1 ? 'Queda' : 'Quedan'} ${plural(count, 'carácter', 'caracteres')}`,
  over: (count) => `${count === 1 ? 'Sobra' : 'Sobran'} ${plural(count, 'carácter', 'caracteres')}`,
  deleted: (name) => `Se eliminó ${name}`,
  loading: 'Cargando…',
  retry: 'Intentar de nuevo',
};
