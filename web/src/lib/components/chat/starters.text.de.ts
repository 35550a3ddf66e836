import type { Translation } from '$lib/languages/translation';
import type { quickText as englishQuick, starterText as english } from './starters.text';

export const quickText: Translation<typeof englishQuick> = {
  deeper: { label: 'Mehr dazu', words: 'Geh tiefer darauf ein: ' },
  otherSide: { label: 'Die Gegenseite', words: 'Was würde jemand sagen, der das anders sieht?' },
  shorter: { label: 'Kürzer', words: 'Sag das noch einmal in drei Sätzen.' },
  evidence: { label: 'Woher weißt du das?', words: 'Woher weißt du das? Zeig mir die Belege.' },
  hint: { label: 'Ein Tipp', words: 'Gib mir einen Tipp, nicht die Antwort.' },
  standing: { label: 'Wo stehen wir?', words: 'Fasse zusammen, wo mein Argument steht und was noch offen ist.' },
};

export const starterText: Translation<typeof english> = {
  document: {
    title: 'An einem Dokument arbeiten',
    words: (document) => `Lies ${document}. Was ist der stärkste Punkt, was der schwächste? Zitiere die Stellen, auf die du dich stützt.`,
  },
  tour: { title: 'Die Vorführung ansehen', words: 'Zeig mir Schritt für Schritt, was du kannst.' },
  teamTour: { title: 'Eine Freigabe ansehen', words: 'Zeig mir, wie die Änderung einer Team-Datei freigegeben und rückgängig gemacht wird.' },
  argument: {
    title: 'Ein Argument prüfen',
    words: 'Ich finde, Städte sollten autofrei sein. Hilf mir, den schwächsten Punkt meines Arguments zu finden.',
  },
  otherSide: {
    title: 'Die Gegenseite hören',
    words: 'Formuliere die stärksten fairen Argumente gegen meine Ansicht, bevor ich darauf antworte.',
  },
  question: {
    title: 'Mit einer Frage beginnen',
    words: 'Ich möchte über Willensfreiheit schreiben, weiß aber nicht, wo ich anfangen soll. Frag mich, was ich klären muss.',
  },
  plan: {
    title: 'Erst planen, dann handeln',
    words: 'Mach einen Plan für einen zweiwöchigen Lesekurs zur Geschichte des Tiefseetauchens und speichere ihn dann als Datei.',
  },
  views: {
    title: 'Zwei Ansichten vergleichen',
    words: 'Nimm zwei Helfer: Einer argumentiert für Kernkraft, der andere dagegen. Wäge dann beide Seiten für mich ab.',
  },
  research: {
    title: 'Mit Quellen recherchieren',
    words: 'Was weiß man über Sprachmodelle, die auf einem Laptop laufen? Zeig mir den Plan, bevor du suchst.',
  },
  claim: {
    title: 'Eine Behauptung prüfen',
    words: 'Stimmt es, dass sich das Great Barrier Reef erholt hat? Zitiere wörtlich, was die Quellen sagen.',
  },
  bothSides: {
    title: 'Beide Seiten sehen',
    words: 'Was spricht für eine Viertagewoche, was dagegen? Gib mir die besten Quellen für jede Seite.',
  },
  order: {
    title: 'Dateien ordnen',
    words: 'Sieh dir die Team-Dateien an und schlag eine klarere Struktur vor. Ändere noch nichts.',
  },
  brief: {
    title: 'Eine Übersicht schreiben',
    words: 'Schreib aus den Team-Dateien eine Seite Überblick für jemanden, der neu ist. Zeig sie mir, bevor du sie speicherst.',
  },
  consistency: {
    title: 'Widersprüche finden',
    words: 'Welche Team-Dateien widersprechen sich? Nenne die Stellen und schlag vor, was zu ändern ist.',
  },
  sampleResearch: { title: 'Mit Quellen recherchieren', words: 'Wie tief tauchte die Bathysphere?' },
  sampleClaim: { title: 'Eine Behauptung prüfen', words: 'Wer entwarf die Bathysphere, und wie wurde sie gebaut?' },
  sampleDetail: { title: 'Ein Detail finden', words: 'Wer beschrieb Gloria Hollister 1934 aus der Bathysphere, was er sah?' },
};
