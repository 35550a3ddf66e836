import type { Translation } from '$lib/languages/translation';
import type { helpText as english } from './text';

export const helpText: Translation<typeof english> = {
  begin: 'Empezar una conversación nueva',
  search: 'Buscar conversaciones',
  write: 'Escribir un mensaje',
  send: 'Enviar el mensaje',
  line: 'Insertar un salto de línea',
  stop: 'Detener al agente',
  sidebar: 'Mostrar u ocultar las conversaciones',
  panels: 'Mostrar u ocultar los paneles',
  requests: 'Moverse entre las solicitudes abiertas',
  choose: 'Elegir una respuesta a una pregunta',
  help: 'Mostrar esta lista',
};
