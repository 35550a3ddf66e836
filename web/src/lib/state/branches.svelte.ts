/**
 * Versions of a message: when the person says something otherwise, the earlier talk is kept.
 *
 * Which messages are versions of each other, and where each one's talk ended, is kept in the
 * thread's metadata; the talk itself is in the thread's history on the server.
 */
import type { Conversation } from './conversation.svelte';
import type { Threads } from './threads.svelte';
import type { Fields } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';

interface Version {
  id: string;
  leaf: string | null;
}

/** What goes along with a message; null where it could not be made, which the conversation tells. */
export type ExtraInput = (
  conversation: Conversation,
  agent: string,
  words: string,
  retry: () => void,
) => Promise<Fields | null>;

export class Branches {
  constructor(
    private readonly conversation: Conversation,
    private readonly threads: Threads,
    private readonly extra: ExtraInput,
  ) {}

  /** The versions of a message, the shown one among them; one alone means there is no other. */
  of(messageId: string): { versions: readonly Version[]; index: number } {
    const versions = this.#groups().find((group) => group.some((version) => version.id === messageId));
    if (!versions) return { versions: [], index: 0 };
    return { versions, index: versions.findIndex((version) => version.id === messageId) };
  }

  /** Say a message otherwise; the talk that followed stays as another version. Refused words stay in its editor. */
  async say(agent: string, messageId: string, words: string): Promise<boolean> {
    const { conversation } = this;
    const leaf = conversation.from ?? conversation.view.checkpoint;
    const isEdited = conversation.messages.find((message) => message.id === messageId)?.text !== words;
    conversation.edit = null;
    const retry = () => void this.say(agent, messageId, conversation.edit?.words ?? words);
    const extra = await this.extra(conversation, agent, words, retry);
    const isSent = extra !== null && (await conversation.branch(agent, messageId, words, extra, retry));
    if (!isSent) {
      if (isEdited) conversation.edit = { messageId, words };
      return false;
    }
    const next = conversation.messages.findLast((message) => message.role === 'human');
    if (!next) return true;
    const groups = this.#groups();
    const group = groups.find((versions) => versions.some((version) => version.id === messageId));
    const known = group ?? [{ id: messageId, leaf }];
    const versions = known.map((version) => (version.id === messageId ? { ...version, leaf } : version));
    await this.#save([...groups.filter((other) => other !== group), [...versions, { id: next.id, leaf: null }]]);
    return true;
  }

  /** Show another version of a message. */
  async show(messageId: string, step: 1 | -1): Promise<void> {
    const { versions, index } = this.of(messageId);
    const next = versions[index + step];
    if (!next) return;
    const leaf = this.conversation.from ?? this.conversation.view.checkpoint;
    const groups = this.#groups().map((group) =>
      group.map((version) => (version.id === messageId ? { ...version, leaf } : version)),
    );
    await this.conversation.lookAt(next.leaf);
    await this.#save(groups);
  }

  #groups(): Version[][] {
    const stored = this.threads.get(this.conversation.id)?.metadata['versions'];
    if (!Array.isArray(stored)) return [];
    return stored.filter(Array.isArray).map((group) =>
      group.filter(isFields).map((version) => ({
        id: String(version['id']),
        leaf: typeof version['leaf'] === 'string' ? version['leaf'] : null,
      })),
    );
  }

  /** Where it cannot be saved, the versions of this page are still right until it is reloaded. */
  async #save(groups: Version[][]): Promise<void> {
    const versions = groups.map((group) => group.map(({ id, leaf }) => ({ id, leaf })));
    await this.threads.change(this.conversation.id, { versions });
  }
}
