/** What goes with the next question to the researcher: listed while the person types, recorded when it is sent. */
import { readStored, readStoredJson, writeStored } from '$lib/browser-storage';
import type { Fields } from '$lib/protocol/wire';
import type { RunRequest } from '$lib/state/run-input';
import { useShelf } from '../store/shelf.svelte';
import { filesText } from '../text';
import { COUNTS, DEFAULT_COUNT, NOTHING, type Choice, type QuestionChooser } from './chooser';
import type { QuestionRecord } from './disclosure';
import { keyOf, wireOf, type Passage } from './passages';

const ON = 'bathysphere.question.documents';
const COUNT = 'bathysphere.question.passages';
/** For the tab: what was removed is not shared when the answer is made again after a reload. */
const REMOVED = 'bathysphere.question.removed';

interface Listed {
  threadId: string;
  choice: Choice;
  isShared: boolean;
}

export class QuestionContext {
  #isOn = $state(readStored(ON) !== 'off');
  #count = $state(storedCount());
  #removed = $state.raw<ReadonlySet<string>>(storedRemoved());
  #listed = $state.raw<Listed | null>(null);
  #turn = 0;

  constructor(
    private readonly chooser: Pick<QuestionChooser, 'choose'>,
    private readonly record: QuestionRecord,
  ) {}

  get isOn(): boolean {
    return this.#isOn;
  }

  set isOn(isOn: boolean) {
    this.#isOn = isOn;
    writeStored(ON, isOn ? 'on' : 'off');
  }

  /** How many passages go with a question. */
  get count(): number {
    return this.#count;
  }

  set count(count: number) {
    this.#count = count;
    writeStored(COUNT, String(count));
  }

  /** What would go with the question of a conversation, or has just gone. */
  listOf(threadId: string): (Choice & { isShared: boolean }) | null {
    const listed = this.#listed;
    if (listed?.threadId !== threadId) return null;
    return { ...this.#kept(threadId, listed.choice), isShared: listed.isShared };
  }

  /** List what would go with these words. */
  async look(threadId: string, words: string): Promise<void> {
    const turn = (this.#turn += 1);
    if (words === '' && this.#listed?.isShared && this.#listed.threadId === threadId) return;
    const choice = await this.chooser.choose({ threadId, words, count: this.#count });
    if (turn === this.#turn) this.#listed = { threadId, choice, isShared: false };
  }

  /** Keep a passage or an address out of this conversation. */
  remove(threadId: string, item: Passage | string): void {
    this.#removed = new Set([...this.#removed, removalOf(threadId, item)]);
    writeStored(REMOVED, JSON.stringify([...this.#removed]), 'tab');
  }

  /** The input of a run: exactly what was recorded as shared. */
  async input({ agent, threadId, words, isNew }: RunRequest): Promise<Fields> {
    const choice = this.#isOn ? await this.#choose(threadId, words) : NOTHING;
    const { passages, pages } = this.#kept(threadId, choice);
    // The thread's state has those of the last question: they must not serve the next one.
    if (!passages.length && !pages.length) return isNew ? {} : { documents: [], context_urls: [] };
    await this.record({ threadId, agent, words }, { passages, pages }).catch(() => {
      throw new Error(filesText.question.unrecorded);
    });
    this.#turn += 1;
    this.#listed = { threadId, choice, isShared: true };
    return { documents: passages.map(wireOf), context_urls: [...pages] };
  }

  /** A browser without a database asks without documents; what was listed is never left out in silence. */
  async #choose(threadId: string, words: string): Promise<Choice> {
    try {
      return await this.chooser.choose({ threadId, words, count: this.#count });
    } catch {
      if (this.listOf(threadId)) throw new Error(filesText.question.unread);
      return NOTHING;
    }
  }

  #kept(threadId: string, { passages, pages }: Choice): Choice {
    const isKept = (item: Passage | string) => !this.#removed.has(removalOf(threadId, item));
    return { passages: passages.filter(isKept), pages: pages.filter(isKept) };
  }
}

const removalOf = (threadId: string, item: Passage | string) => `${threadId} ${typeof item === 'string' ? item : keyOf(item)}`;

function storedCount(): number {
  const count = Number(readStored(COUNT));
  return COUNTS.includes(count) ? count : DEFAULT_COUNT;
}

function storedRemoved(): ReadonlySet<string> {
  const stored = readStoredJson(REMOVED, 'tab');
  return new Set(Array.isArray(stored) ? stored.filter((key) => typeof key === 'string') : []);
}

let shared: QuestionContext | undefined;

/** The one of this page. */
export function useQuestionContext(): QuestionContext {
  if (!shared) {
    const { chooser, recordQuestion } = useShelf();
    shared = new QuestionContext(chooser, recordQuestion);
  }
  return shared;
}
