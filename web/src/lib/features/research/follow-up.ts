/** Follow-ups: how a second message was understood, its checked answer, and the reports of a thread. */
import type { Api } from '$lib/protocol/api';
import { isFields } from '$lib/protocol/fields';
import type { Report } from './report';

export interface ReportEntry {
  id: string;
  number: number;
  question: string;
  finishedAt: string;
  claims: number;
  sources: number;
}

type Values = Record<string, unknown>;

/** What was chosen, why, and how to choose otherwise; '' for a first question. */
export function noteOf(followUp: unknown): string {
  return isFields(followUp) ? String(followUp['note'] ?? '') : '';
}

/** The text of an answer from the sources already read, as it stands in its message. */
export function answerTextOf(values: Values): string | null {
  const answer = values['answer'];
  return isFields(answer) && typeof answer['text'] === 'string' ? answer['text'] : null;
}

/** How many reports this line of the conversation has. */
export function reportCountOf(values: Values): number {
  const history = values['history'];
  return isFields(history) && Array.isArray(history['reports']) ? history['reports'].length : 0;
}

/** All reports of a thread, oldest first. */
export async function listReports(api: Api, thread: string): Promise<ReportEntry[]> {
  return (await api.send<{ reports: ReportEntry[] }>('GET', `/api/research/${thread}/reports`)).reports;
}

export function readReport(api: Api, thread: string, id: string): Promise<Report> {
  return api.send<Report>('GET', `/api/research/${thread}/report?format=json&report=${id}`);
}
