import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { text as english } from './text';

export const text: Translation<typeof english> = {
  export: 'Exportar',
  markdown: 'Markdown',
  markdownHint: 'Lo que se dijo, para notas y otros editores',
  json: 'JSON',
  jsonHint: 'Lo que se dijo, para programas',
  pdf: 'Imprimir o guardar como PDF',
  pdfHint: 'Abre el diálogo de impresión de tu navegador',
  empty: 'Aún no hay nada que exportar.',
  tooLong: 'Esta conversación es demasiado larga para exportarla en un solo archivo.',
  you: 'Tú',
  agent: 'Agente',
  exported: (title, date) => `${title}, exportada el ${date}`,
  share: 'Compartir',
  shareHint:
    'Crea una copia de solo lectura de esta conversación tal como está ahora. Cualquiera que tenga el enlace podrá leerla. Tus documentos y archivos no forman parte de ella.',
  local: 'Solo se puede acceder a este servidor desde esta máquina, así que el enlace solo funciona aquí.',
  expires: 'Caduca en',
  days: (n) => plural(n, 'día', 'días'),
  create: 'Crear enlace',
  copy: 'Copiar enlace',
  copied: 'Enlace copiado',
  open: 'Abrir enlace',
  revoke: 'Revocar',
  revoked: 'Enlace revocado',
  links: 'Enlaces activos',
  until: (date, messages) => `${plural(messages, 'mensaje', 'mensajes')}, hasta el ${date}`,
  failed: 'Algo salió mal. Inténtalo de nuevo.',
};
