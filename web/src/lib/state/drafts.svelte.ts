/** What the person has written and not sent, for each conversation and question; kept in this tab over a reload. */
import { readStoredJson, writeStored } from '$lib/browser-storage';
import { questionKey } from '$lib/stream/questions';
import { isFields } from '$lib/protocol/fields';
import type { Question } from '$lib/stream/view';

export const STORED = 'bathysphere.drafts';
const MOST = 50;
/** The draft of a conversation that has no address yet. */
export const NEW = 'new';
/** The draft of an answer. */
export const answerKey = (question: Question): string => `answer ${questionKey(question)}`;

export class Drafts {
  #all = $state.raw<Readonly<Record<string, string>>>(read());

  of(key: string): string {
    return this.#all[key] ?? '';
  }

  keep(key: string, words: string): void {
    if (words === this.of(key)) return;
    const { [key]: _, ...others } = this.#all;
    const kept = words === '' ? others : { ...others, [key]: words };
    this.#all = Object.fromEntries(Object.entries(kept).slice(-MOST));
    writeStored(STORED, JSON.stringify(this.#all), 'tab');
  }
}

function read(): Record<string, string> {
  const stored = readStoredJson(STORED, 'tab');
  const entries = isFields(stored) ? Object.entries(stored) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
