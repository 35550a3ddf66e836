import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { followUpText as english } from './follow-up.text';

export const followUpText: Translation<typeof english> = {
  sources: 'Fuentes',
  reports: 'Informes',
  answer: 'Citas verificadas',
  open: 'Abrir',
  close: 'Cerrar',
  none: 'Aún no hay informes.',
  loading: 'Cargando informes…',
  about: (when, claims, sources) =>
    `${when}: ${plural(claims, 'afirmación', 'afirmaciones')}, ${plural(sources, 'fuente', 'fuentes')}`,
  export: (number) => `Exportar el informe ${number}`,
  proof: 'Prueba',
};
