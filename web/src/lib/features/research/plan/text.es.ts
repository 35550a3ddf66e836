import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { planText as english } from './text';

export const planText: Translation<typeof english> = {
  clean: 'Cumple la política',
  cleanByJudgement: 'Cumple las reglas de la política; el auditor no tiene objeciones',
  broken: 'No cumple la política',
  byRule: 'Decidido por las reglas de la política.',
  byJudgement: 'Decidido por las reglas de la política y, donde no hay regla, por el auditor.',
  how: 'Cómo se revisó',
  rule: (rule) => `regla ${rule}`,
  judgement: (question) => `criterio del auditor sobre: ${question}`,
  step: (n) => `paso ${n}`,
  better: 'Sugerencia:',
  allowed: 'permitido',
  refused: 'no permitido',
  policy: 'Política',
  plan: 'Plan',
  isNew: 'nuevo',
  isDone: 'hecho',
  growth: (n) => `El investigador quiere añadir ${plural(n, 'paso', 'pasos')}. Los demás quedan como los aprobaste.`,
  pages: (n) => (n === 1 ? 'abre 1 página' : `abre hasta ${n} páginas`),
  anywhere: 'en cualquier sitio público',
  only: (domains) => `solo en ${domains}`,
  after: (names) => `tras ${names.replaceAll('paso ', 'el paso ')}`,
  sites: 'Sitios que puede abrir (* para cualquier sitio público)',
  howMany: 'Páginas que puede abrir',
  addWith: (tool) => `Añadir paso: ${tool}`,
  state: { waiting: 'en espera', running: 'en curso', done: 'hecho', failed: 'falló' },
};
