/** The model that the person has chosen for a conversation, from those that are offered. */
import { SvelteMap } from 'svelte/reactivity';
import { MODEL, type ModelCard } from '$lib/protocol/api';
import type { Agents } from './agents.svelte';
import type { Thread } from './thread';
import type { Threads } from './threads.svelte';

/** What of the page it depends on. */
interface OpenConversation {
  readonly agents: Agents;
  readonly threads: Threads;
  readonly agent: string;
  readonly thread: Thread | null | undefined;
  readonly conversation: { readonly id: string };
}

export class ModelChoice {
  /** Choices that the server does not keep yet, by conversation. */
  readonly #pending = new SvelteMap<string, string>();

  constructor(private readonly app: OpenConversation) {}

  /** What can be chosen in the open conversation; empty if there is no choice. */
  readonly offered = $derived.by(() => this.app.agents.offeredTo(this.app.agent));

  /** The model that answers in the open conversation. */
  readonly card: ModelCard | null = $derived.by(() => {
    const { main } = this.app.agents;
    const name = this.of(this.app.conversation.id) ?? main?.name;
    return this.offered.find((each) => each.name === name) ?? main;
  });

  /** The choice for a conversation; null if there is none, or it is offered no longer. */
  of(id: string): string | null {
    const thread = this.app.threads.get(id);
    const name = this.#pending.get(id) ?? thread?.metadata[MODEL];
    const offered = this.app.agents.offeredTo(thread?.agent ?? this.app.agent);
    return offered.find((each) => each.name === name)?.name ?? null;
  }

  /** Choose for the open conversation; what the server does not take now goes with the next message. */
  async choose(name: string): Promise<void> {
    const { id } = this.app.conversation;
    this.#pending.set(id, name);
    if (!this.app.thread) return;
    await this.app.threads.change(id, { [MODEL]: name }).then(
      () => this.settle(id, name),
      () => undefined,
    );
  }

  /** The server keeps this choice now; a later one stays. */
  settle(id: string, name: string | null): void {
    if (this.#pending.get(id) === name) this.#pending.delete(id);
  }
}
