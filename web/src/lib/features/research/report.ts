/** A research report as the thread's state has it: docs/evidence.md says what each part means. */
import { isFields } from '$lib/protocol/fields';
import { documentOf } from './document-source';

export interface Finding {
  code: string;
  level: 'error' | 'note';
  detail: string;
}

export interface Claim {
  id: string;
  text: string;
  status: 'supported' | 'repaired' | 'unsupported';
  quotes: string[];
  findings: Finding[];
  independent: number;
  /** What a model says of it; not judged if there is none. */
  judgement?: { follows: boolean; reason: string } | null;
}

export interface Section {
  heading: string;
  kind: 'findings' | 'remarks';
  claims: Claim[];
}

/** Words of a source, by bytes of its UTF-8 text. */
export interface Quote {
  id: string;
  snapshot: string;
  start: number;
  end: number;
  text: string;
}

/** What is known of a source without its text. */
export interface SourceInfo {
  id: string;
  final_url: string;
  origin: string;
  title: string;
  fetched_at: string;
  published: string | null;
  text_sha256: string;
}

export interface Source {
  number: number;
  snapshot: SourceInfo;
  flags: string[];
}

export interface Contradiction {
  topic: string;
  sides: { quote: string; snapshot: string; published: string | null }[];
  found_by: 'rule' | 'model';
}

export interface Report {
  question: string;
  title: string;
  sections: Section[];
  quotes: Quote[];
  sources: Source[];
  contradictions: Contradiction[];
  dropped: { text: string; findings: Finding[] }[];
  tally: Record<
    'claims' | 'supported' | 'repaired' | 'unsupported' | 'dropped' | 'quotes' | 'quotes_refused' | 'sources' | 'contradictions',
    number
  >;
}

type Values = Record<string, unknown>;

/** The finished report of a thread; null while there is none. */
export function reportOf(values: Values): Report | null {
  return wholeReport(values['report']);
}

/** The checked answer to a follow-up: made of claims and quotes as a report is. */
export function followUpOf(values: Values): Report | null {
  const answer = values['answer'];
  return isFields(answer) ? wholeReport(answer['content']) : null;
}

function wholeReport(report: unknown): Report | null {
  const isWhole = isFields(report) && ['sections', 'quotes', 'sources'].every((part) => Array.isArray(report[part]));
  return isWhole ? (report as unknown as Report) : null;
}

/** Every source that was read, also those that nothing was quoted from. */
export function sourcesOf(values: Values): Source[] {
  const report = reportOf(values) ?? followUpOf(values);
  const read = Array.isArray(values['sources']) ? (values['sources'].filter(isFields) as unknown as SourceInfo[]) : [];
  const quoted = report?.sources ?? [];
  const known = new Set(quoted.map((source) => source.snapshot.id));
  const others = read.filter((source) => !known.has(source.id));
  return [...quoted, ...others.map((snapshot) => ({ number: 0, snapshot, flags: [] }))];
}

const ANSWER_CLAIMS = 3;

/** The claims that answer first, as in the exported report: supported ones, or corrected ones if there are none. */
export function answerOf(report: Report): Claim[] {
  const claims = report.sections.filter(({ kind }) => kind === 'findings').flatMap((section) => section.claims);
  const supported = claims.filter(({ status }) => status === 'supported');
  const chosen = supported.length ? supported : claims.filter(({ status }) => status === 'repaired');
  return chosen.slice(0, ANSWER_CLAIMS);
}

/** Each section without what is not supported; none that has nothing left. */
export function findingsOf(report: Report): Section[] {
  const shown = report.sections.map((section) => ({
    ...section,
    claims: section.claims.filter(({ status }) => status !== 'unsupported'),
  }));
  return shown.filter(({ claims }) => claims.length);
}

export function unsupportedOf(report: Report): Claim[] {
  return report.sections.flatMap(({ claims }) => claims.filter(({ status }) => status === 'unsupported'));
}

/** The first quote of a claim from each of its sources, in the order of their numbers. */
export function referencesOf(claim: Claim, report: Report): { source: Source; quote: Quote }[] {
  const quotes = report.quotes.filter(({ id }) => claim.quotes.includes(id));
  return report.sources.flatMap((source) => {
    const quote = quotes.find(({ snapshot }) => snapshot === source.snapshot.id);
    return quote ? [{ source, quote }] : [];
  });
}

/** The host of a web page; '' for a passage of the person's document, whose address says nothing to them. */
export function hostOf(source: SourceInfo): string {
  if (documentOf(source.final_url)) return '';
  try {
    return new URL(source.final_url).host || source.final_url;
  } catch {
    return source.final_url;
  }
}

/** An address that may be opened, or null: sources of a corpus have none. */
export function addressOf(source: SourceInfo): string | null {
  return /^https?:\/\//i.test(source.final_url) ? source.final_url : null;
}
