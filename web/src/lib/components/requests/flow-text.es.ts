import type { Translation } from '$lib/languages/translation';
import type { flowText as english } from './flow-text';

export const flowText: Translation<typeof english> = {
  whole: {
    unplanned: 'Lo que pediste no implicaba claramente esto, y desde entonces el agente ha leído textos de otros.',
    used_up: 'Pediste esto una vez y ya está hecho.',
    secret: 'El agente leyó algo privado que no hacía falta para lo que pediste, y con esto se enviaría algo fuera.',
  },
  sent: 'esto se enviaría fuera después de que el agente leyera algo privado.',
  read: (noun, place) => `${noun} aparece en ${place}, no en tus mensajes.`,
  readAndSaid: (noun, place) => `${noun} aparece en ${place}. También está en tus mensajes, pero no para esto.`,
  said: (noun) => `${noun} está en tus mensajes, pero no para esto.`,
  nowhere: (noun) => `${noun} no aparece en nada de lo que leyó el agente ni en tus mensajes.`,
  nouns: {
    who: 'este destinatario',
    where: 'esta dirección',
    what: 'este nombre',
    amount: 'esta cantidad',
    secret: 'este secreto',
    text: 'esta dirección del texto',
    inside: 'esta dirección del nombre',
  },
  kind: (kind) => `este valor («${kind}»)`,
  argument: (name) => `este valor de «${name}»`,
  line: (place, line) => `${place}, línea ${line}`,
  document: (title) => `tu documento ${title}`,
  places: {
    '': (about) => `el adjunto ${about}`,
    fetch_page: (about) => `la página web ${about}`,
    web_search: (about) => `una búsqueda de «${about}» en la web`,
    read_file: (about) => `el archivo ${about}`,
    task: () => 'el informe de un subagente',
  },
  result: (tool, about) => `el resultado de «${tool}»${about ? ` (${about})` : ''}`,
  trust: (source) => `Confiar en ${source} durante esta conversación`,
  trustLabel: 'Fuentes en las que confiar',
  trustHint:
    'Para lo que pediste, el agente podrá usar sin preguntar los valores que esa fuente contiene ahora. Puedes dejar de confiar en ella en cualquier momento.',
  label: 'Por qué se te pregunta',
  passage: 'Mostrar pasaje',
  showAll: 'Mostrar todo',
  openDocument: 'Abrir documento',
  changed: 'El documento ha cambiado desde entonces; ya no contiene estas palabras.',
  deleted: 'Este documento se eliminó en este navegador.',
  missing: 'Este documento no está en este navegador.',
};
