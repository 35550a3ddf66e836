/** What the person has written and not sent, for each conversation; kept in this tab over a reload. */
import { readStoredJson, writeStored } from '$lib/browser-storage';
import { isFields } from '$lib/stream/state-messages';

const STORED = 'bathysphere.drafts';
const MOST = 50;
/** The draft of a conversation that has no address yet. */
export const NEW = 'new';

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
