/** A research report as the thread's state has it: docs/evidence.md says what each part means. */
import { isFields } from '$lib/stream/state-messages';

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
  const report = values['report'];
  const isWhole = isFields(report) && ['sections', 'quotes', 'sources'].every((part) => Array.isArray(report[part]));
  return isWhole ? (report as unknown as Report) : null;
}

/** Every source that was read, also those that nothing was quoted from. */
export function sourcesOf(values: Values): Source[] {
  const report = reportOf(values);
  const read = Array.isArray(values['sources']) ? (values['sources'].filter(isFields) as unknown as SourceInfo[]) : [];
  const quoted = report?.sources ?? [];
  const known = new Set(quoted.map((source) => source.snapshot.id));
  const others = read.filter((source) => !known.has(source.id));
  return [...quoted, ...others.map((snapshot) => ({ number: 0, snapshot, flags: [] }))];
}

export function hostOf(source: SourceInfo): string {
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
