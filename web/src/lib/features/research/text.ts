import { plural } from '$lib/format';

export const researchText = {
  sources: 'Sources',
  run: 'How the research goes',
  stages: { plan: 'Plan', audit: 'Audit', approve: 'Your word', read: 'Read', write: 'Write' } as Record<string, string>,
  doing: {
    plan: 'Making a plan',
    audit: 'Holding the plan against the policy',
    approve: 'The plan waits for your word',
    read: 'Reading sources',
    write: 'Writing, and checking every quote',
  } as Record<string, string>,
  done: (steps: number, sources: number) => `${plural(steps, 'step', 'steps')} done, ${plural(sources, 'source', 'sources')} read`,
  failed: 'The research ended before there was a report.',
  again: 'Ask again',
  denied: 'Asked for, and not done',
  deniedBy: { policy: 'by the policy', person: 'by you' } as Record<string, string>,
  figures: {
    claims: (n: number) => plural(n, 'claim', 'claims'),
    quotes: (n: number) => `${plural(n, 'quote', 'quotes')}, checked to the byte`,
    sources: (n: number) => plural(n, 'source', 'sources'),
    repaired: (n: number) => `${n} repaired`,
    unsupported: (n: number) => `${n} unsupported`,
    dropped: (n: number) => `${n} left out`,
    contradictions: (n: number) => plural(n, 'disagreement', 'disagreements'),
  },
  status: { supported: 'Supported', repaired: 'Repaired', unsupported: 'Unsupported' } as Record<string, string>,
  quote: (number: number, title: string) => `Show in source ${number}, ${title}`,
  independent: (n: number) => `stands on ${n} independent sources`,
  disagree: 'Where sources disagree',
  foundBy: { rule: 'found by rule', model: 'found by the model' } as Record<string, string>,
  noDate: 'no date',
  left: 'Left out',
  read: 'A checked quote stands in its source, byte for byte. That does not prove that the claim follows from it: read the quote.',
  export: 'Take it with you',
  proof: 'Proof (.zip)',
  formats: { md: 'Markdown', html: 'HTML', docx: 'Word', pdf: 'PDF' } as Record<string, string>,
  verify: 'Check a proof',
  verifyHint: 'Opens a page that checks the file on your device. It needs no server and sends nothing.',
  getting: 'Getting the file…',
  none: 'What the researcher reads is here, as it was when it was read.',
  back: 'All sources',
  opening: 'Opening the source…',
  quotes: (n: number) => plural(n, 'quote', 'quotes'),
  notQuoted: 'not quoted',
  readAt: (when: string) => `read ${when}`,
  dated: (when: string) => `dated ${when}`,
  original: 'The page as it is now',
  hash: 'SHA-256 of the text',
  marked: 'The quote in its source',
  origins: { web: 'from the web', corpus: 'from the documents of this server', client: 'from what you attached' } as Record<string, string>,
  flags: {
    thin: 'very short page',
    soft_404: 'may be an error page',
    paywall: 'may be cut by a paywall',
    redirected: 'came from another host',
    injection: 'tries to instruct the model',
    copy_of_another: 'copy of another source',
  } as Record<string, string>,
  findings: {
    no_quote: 'no quote',
    quote_absent: 'a quote is not in the source',
    quote_altered: 'a quote was altered',
    quote_injected: 'a quote is an instruction to the model',
    quote_too_short: 'a quote is too short',
    quote_too_long: 'a quote is too long',
    unknown_source: 'a source was not read',
    quote_moved: 'a quote was found in another source',
    quote_repaired: 'a quote was mended with the source’s words',
    number_absent: 'a number is in none of its sources',
    number_outside_quote: 'a number is in the source but not in the quote',
    name_absent: 'a name is in none of its sources',
    url_not_read: 'an address was not read',
    dangling_marker: 'a marker was removed',
  } as Record<string, string>,
} as const;

/** Findings that explain nothing about a claim's status. */
const ASIDE = new Set(['number_outside_quote', 'name_absent', 'dangling_marker']);

export const isAside = ({ code }: { code: string }) => ASIDE.has(code);

/** Why a claim is as it is, in words, each reason once. */
export function reasonsOf(findings: readonly { code: string }[]): string {
  return [...new Set(findings.map(({ code }) => researchText.findings[code] ?? code))].join(', ');
}
