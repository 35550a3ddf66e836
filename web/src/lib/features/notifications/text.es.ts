import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

const hint = 'Cuando un agente te necesita o termina mientras haces otra cosa. Una notificación nunca muestra lo que se escribió.';

export const text: Translation<typeof english> = {
  label: 'Notificaciones',
  use: 'Avisarme',
  hints: {
    default: hint,
    granted: hint,
    denied: 'Tu navegador bloquea las notificaciones de esta página. Puedes permitirlas en su configuración para este sitio.',
    unsupported: 'Este navegador no puede mostrar notificaciones.',
  },
  push: {
    on: 'También recibirás avisos con esta página cerrada.',
    failed: 'No se pudo registrar este navegador: recibirás avisos solo mientras esta página esté abierta.',
  },
  news: {
    waiting: 'Un agente necesita tu respuesta',
    done: 'Hay una respuesta lista',
    failed: 'Falló una ejecución',
  },
};
