import type { Translation } from '$lib/languages/translation';
import type { quickText as englishQuick, starterText as englishStarters } from './starters.text';

export const quickText: Translation<typeof englishQuick> = {
  deeper: { label: 'Profundizar', words: 'Profundiza en esto: ' },
  otherSide: { label: 'El otro punto de vista', words: '¿Qué diría alguien que no esté de acuerdo?' },
  shorter: { label: 'Más breve', words: 'Dilo de nuevo en tres frases.' },
  evidence: { label: '¿Cómo lo sabes?', words: '¿Cómo lo sabes? Muéstrame las pruebas.' },
  hint: { label: 'Una pista', words: 'Dame una pista, no la respuesta.' },
  standing: { label: '¿Dónde estamos?', words: 'Resume en qué punto está mi argumento y qué queda abierto.' },
};

/** The sample pages are in English, so what is asked of them says Bathysphere as they do, not «batisfera». */
export const starterText: Translation<typeof englishStarters> = {
  document: {
    title: 'Trabajar con un documento',
    words: (document) => `Lee ${document}. ¿Cuál es su punto más fuerte y cuál el más débil? Cita los pasajes en los que te basas.`,
  },
  tour: { title: 'Ver la demostración', words: 'Muéstrame paso a paso lo que sabes hacer.' },
  teamTour: { title: 'Ver una aprobación', words: 'Muéstrame cómo se aprueba y se deshace un cambio en un archivo del equipo.' },
  argument: {
    title: 'Poner a prueba un argumento',
    words: 'Creo que en las ciudades no debería haber automóviles. Ayúdame a encontrar el punto más débil de mi argumento.',
  },
  otherSide: {
    title: 'Escuchar a la otra parte',
    words: 'Presenta el argumento más sólido y justo contra mi postura antes de que yo responda.',
  },
  question: {
    title: 'Empezar con una pregunta',
    words: 'Quiero escribir sobre el libre albedrío, pero no sé por dónde empezar. Hazme preguntas sobre lo que necesito aclarar.',
  },
  plan: {
    title: 'Primero el plan',
    words: 'Haz un plan para un curso de lectura de dos semanas sobre la historia del buceo en aguas profundas y guárdalo como archivo.',
  },
  views: {
    title: 'Comparar dos posturas',
    words: 'Usa dos ayudantes: uno defiende la energía nuclear y el otro argumenta en contra. Después, sopesa ambas posturas.',
  },
  research: {
    title: 'Investigar con fuentes',
    words: '¿Qué se sabe de los modelos de lenguaje que funcionan en un portátil? Muéstrame el plan antes de buscar.',
  },
  claim: {
    title: 'Comprobar una afirmación',
    words: '¿Es cierto que la Gran Barrera de Coral se ha recuperado? Cita textualmente lo que dicen las fuentes.',
  },
  bothSides: {
    title: 'Ver ambos lados',
    words: '¿Qué hay a favor de la semana de cuatro días y qué en contra? Dame las mejores fuentes de cada lado.',
  },
  order: {
    title: 'Ordenar archivos',
    words: 'Revisa los archivos del equipo y propón una estructura más clara. No cambies nada todavía.',
  },
  brief: {
    title: 'Escribir un resumen',
    words: 'Escribe, a partir de los archivos del equipo, un resumen de una página para alguien nuevo. Enséñamelo antes de guardarlo.',
  },
  consistency: {
    title: 'Encontrar contradicciones',
    words: '¿Qué archivos del equipo se contradicen? Indica los pasajes y propón qué cambiar.',
  },
  sampleResearch: { title: 'Investigar con fuentes', words: '¿A qué profundidad llegó la Bathysphere?' },
  sampleClaim: { title: 'Comprobar una afirmación', words: '¿Quién diseñó la Bathysphere, Beebe o Barton?' },
  sampleDetail: { title: 'Encontrar un dato', words: '¿Quién describió a Gloria Hollister en 1934 lo que veía desde la Bathysphere?' },
};
