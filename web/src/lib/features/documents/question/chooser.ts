/** Chooses what of a project goes with a question: the best passages, and the addresses of its web pages. */
import type { Finder } from '../search/finder';
import { namedIn } from '../mentions';
import type { Document, Documents } from '../store/documents';
import { passageOf, type Passage } from './passages';

export const COUNTS: readonly number[] = [4, 8, 12, 20];
export const DEFAULT_COUNT = 8;
const MAX_PAGES = 20;
/** More of a question than this says nothing new about it. */
const MAX_QUERY = 2_000;

export interface Question {
  threadId: string;
  words: string;
  /** How many passages are wanted. */
  count: number;
}

export interface Choice {
  passages: readonly Passage[];
  /** Addresses of web pages that were added as sources. */
  pages: readonly string[];
}

export const NOTHING: Choice = { passages: [], pages: [] };

export class QuestionChooser {
  #last: { key: string; choice: Choice } | null = null;

  constructor(
    private readonly documents: Documents,
    private readonly finder: Finder,
  ) {}

  /** The same question on the same documents has the same answer, so what was listed is what is sent. */
  async choose(question: Question): Promise<Choice> {
    const project = await this.documents.projectOf(question.threadId);
    if (project === null || question.words.trim() === '') return NOTHING;
    const documents = await this.documents.all(project);
    const key = keyOf(question, project, documents);
    if (this.#last?.key !== key) {
      const named = namedIn(question.words, documents);
      const wanted = named.length ? named : documents;
      this.#last = { key, choice: { passages: await this.#passages(wanted, question), pages: pagesOf(wanted) } };
    }
    return this.#last.choice;
  }

  async #passages(documents: readonly Document[], { words, count }: Question): Promise<Passage[]> {
    const byId = new Map(documents.map((document) => [document.id, document]));
    const hits = await this.#find(documents, words.slice(0, MAX_QUERY), count);
    return hits.flatMap((hit) => {
      const document = byId.get(hit.documentId);
      return document ? [passageOf(document, hit)] : [];
    });
  }

  /** By meaning too where its model is there: a question does not wait for a download. */
  async #find(documents: readonly Document[], query: string, most: number) {
    const byWords = () => this.finder.find(documents, query, { most, by: 'words' });
    const isReady = this.finder.meaning?.stage === 'ready';
    const { hits } = await (isReady ? this.finder.find(documents, query, { most }).catch(byWords) : byWords());
    return hits;
  }
}

function keyOf({ words, count }: Question, project: string, documents: readonly Document[]): string {
  const versions = documents.map(({ id, version, title, origin }) => [id, version, title, origin]);
  return JSON.stringify([words, count, project, versions]);
}

function pagesOf(documents: readonly Document[]): string[] {
  const addresses = documents.map(({ origin }) => origin).filter((origin) => /^https?:\/\//i.test(origin));
  return [...new Set(addresses)].slice(0, MAX_PAGES);
}
