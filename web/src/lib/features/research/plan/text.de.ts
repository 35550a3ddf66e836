import { plural } from '$lib/format';
import type { Translation } from '$lib/languages/translation';
import type { planText as english } from './text';

export const planText: Translation<typeof english> = {
  clean: 'Entspricht der Richtlinie',
  cleanByJudgement: 'Entspricht den Regeln der Richtlinie; der Prüfer hat keine Einwände',
  broken: 'Verstößt gegen die Richtlinie',
  byRule: 'Entschieden nach den Regeln der Richtlinie.',
  byJudgement: 'Entschieden nach den Regeln der Richtlinie und, wo keine Regel greift, durch den Prüfer.',
  how: 'Wie geprüft wurde',
  rule: (rule) => `Regel ${rule}`,
  judgement: (question) => `Urteil des Prüfers zu: ${question}`,
  step: (n) => `Schritt ${n}`,
  better: 'Vorschlag:',
  allowed: 'erlaubt',
  refused: 'nicht erlaubt',
  policy: 'Richtlinie',
  plan: 'Plan',
  isNew: 'neu',
  isDone: 'erledigt',
  growth: (n) => `Der Rechercheur möchte ${plural(n, 'Schritt', 'Schritte')} hinzufügen. Die anderen bleiben, wie du sie freigegeben hast.`,
  pages: (n) => (n === 1 ? 'öffnet 1 Seite' : `öffnet bis zu ${n} Seiten`),
  anywhere: 'auf jeder öffentlichen Website',
  only: (domains) => `nur auf ${domains}`,
  after: (names) => `nach ${names}`,
  sites: 'Erlaubte Websites (* für jede öffentliche)',
  howMany: 'Erlaubte Seiten',
  addWith: (tool) => `Schritt hinzufügen: ${tool}`,
  state: { waiting: 'wartet', running: 'arbeitet', done: 'fertig', failed: 'fehlgeschlagen' },
};
