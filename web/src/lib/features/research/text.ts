import { plural } from '$lib/format';
import { inLanguage } from '$lib/languages/texts';

export const researchText = inLanguage('features/research/text:researchText', {
  sources: 'Sources',
  run: 'Research progress',
  stages: { plan: 'Plan', audit: 'Check', approve: 'Approval', read: 'Read', write: 'Write' } as Record<string, string>,
  doing: {
    plan: 'Making a plan',
    audit: 'Checking the plan against the policy',
    approve: 'Waiting for your approval',
    read: 'Reading sources',
    write: 'Writing the report and checking every quote',
  } as Record<string, string>,
  done: (steps: number, sources: number) => `${plural(steps, 'step', 'steps')} done, ${plural(sources, 'source', 'sources')} read`,
  failed: 'The research ended without a report.',
  again: 'Try again',
  denied: 'Denied requests',
  deniedBy: { policy: 'by the policy', person: 'by you' } as Record<string, string>,
  figures: {
    claims: (n: number) => plural(n, 'claim', 'claims'),
    quotes: (n: number) => plural(n, 'verified quote', 'verified quotes'),
    sources: (n: number) => plural(n, 'source', 'sources'),
    repaired: (n: number) => `${n} corrected`,
    unsupported: (n: number) => `${n} not supported`,
    dropped: (n: number) => `${n} left out`,
    contradictions: (n: number) => plural(n, 'disagreement', 'disagreements'),
  },
  status: { supported: 'Supported', repaired: 'Corrected', unsupported: 'Not supported' } as Record<string, string>,
  quote: (number: number, title: string) => `Show in source ${number}: ${title}`,
  independent: (n: number) => `supported by ${n} independent sources`,
  judgement: {
    none: 'Not judged',
    follows: 'Judged by a model: follows from its quotes',
    doubted: 'Judged by a model: does not follow from its quotes',
  },
  answer: 'Answer',
  noAnswer: 'No claim is supported by a checked quote.',
  notSupported: (n: number) => `Not supported (${n})`,
  disagree: 'Where sources disagree',
  noDate: 'no date',
  left: 'Left out',
  read: 'Every verified quote appears word for word in its source. That does not prove that the claim follows from it: read the quote.',
  export: 'Export',
  proof: 'Proof (.zip)',
  formats: { md: 'Markdown', html: 'HTML', docx: 'Word', pdf: 'PDF' } as Record<string, string>,
  verify: 'Verify a report',
  verifyHint: 'Opens a page that verifies the file on your device. It works offline and uploads nothing.',
  getting: 'Preparing the file…',
  none: 'No sources yet. Pages are saved here as they were when the researcher read them.',
  back: 'All sources',
  opening: 'Opening source…',
  quotes: (n: number) => plural(n, 'quote', 'quotes'),
  notQuoted: 'not quoted',
  readAt: (when: string) => `read ${when}`,
  dated: (when: string) => `dated ${when}`,
  original: 'Open live page',
  hash: 'SHA-256 of the text',
  marked: 'The quote in its source',
  origins: { web: 'from the web', corpus: 'from the library', client: 'from your documents' } as Record<string, string>,
  document: {
    changed: 'Your document has changed and no longer contains these words. This is the passage as it was shared.',
    deleted: 'You deleted this document. This is the passage as it was shared.',
  },
  flags: {
    thin: 'very short page',
    soft_404: 'possibly an error page',
    paywall: 'possibly cut off by a paywall',
    redirected: 'redirected from another site',
    injection: 'contains instructions to the model',
    copy_of_another: 'copy of another source',
  } as Record<string, string>,
  findings: {
    no_quote: 'no quote',
    quote_absent: 'the quoted words are not in the source',
    quote_altered: 'the quote was altered',
    quote_injected: 'the quote is an instruction to the model',
    quote_too_short: 'the quote is too short',
    quote_too_long: 'the quote is too long',
    unknown_source: 'the source was not read',
    quote_moved: 'the quote is from another source',
    quote_repaired: 'the quote was corrected from the source',
    number_absent: 'a number is not in any of its sources',
    number_outside_quote: 'a number is in the source, but outside the quoted words',
    name_absent: 'a name is not in any of its sources',
    url_not_read: 'a linked page was not read',
    dangling_marker: 'a citation without a source was removed',
  } as Record<string, string>,
});

/** Findings that explain nothing about a claim's status. */
const ASIDE = new Set(['number_outside_quote', 'name_absent', 'dangling_marker']);

export const isAside = ({ code }: { code: string }) => ASIDE.has(code);

/** Why a claim is as it is, in words, each reason once. */
export function reasonsOf(findings: readonly { code: string }[]): string {
  return [...new Set(findings.map(({ code }) => researchText.findings[code] ?? code))].join(', ');
}

/** A model's judgement of a claim in words; a claim without one is not judged. */
export function judgementOf(judgement: { follows: boolean; reason: string } | null | undefined): string {
  const { none, follows, doubted } = researchText.judgement;
  if (judgement?.follows !== true && judgement?.follows !== false) return none;
  return [judgement.follows ? follows : doubted, judgement.reason].filter(Boolean).join(': ');
}
