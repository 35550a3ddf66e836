/** The agents that can be asked, and the models that answer. */
import { readStored, writeStored } from '$lib/browser-storage';
import { capitalized } from '$lib/format';
import type { Api, ModelCard } from '$lib/protocol/api';
import type { AssistantWire } from '$lib/protocol/wire';
import { text } from '$lib/text';
import { ModelLoading } from './model-loading.svelte';

const STORED = 'bathysphere.agent';
const DEFAULT = 'simple';
const OFFERED = 'offered';
/** The agent for a team's files: of no use where the caller has no workspace. */
const TEAM = 'workspace';
/** The agents that read documents of this browser: by tools, or as passages that go with a question. */
const READERS: readonly string[] = ['research', 'simple', 'tutor'];

export interface AgentChoice {
  name: string;
  title: string;
  description: string;
}

export class Agents {
  #choices = $state.raw<readonly AgentChoice[]>([]);
  #models = $state.raw<readonly ModelCard[]>([]);
  #areModelsKnown = $state(false);
  #chosen = $state(readStored(STORED));
  /** The agent that the server offers first. */
  #default = $state(DEFAULT);
  #isLoaded = $state(false);

  readonly loading: ModelLoading;

  constructor(private readonly api: Api) {
    this.loading = new ModelLoading(api, () => this.lookAtModels());
  }

  /** The agent of new threads: the last one chosen, while it is served. */
  readonly chosen = $derived(
    this.#choices.find((choice) => choice.name === this.#chosen) ??
      this.#choices.find((choice) => choice.name === this.#default) ??
      this.#choices[0] ?? { name: this.#chosen ?? DEFAULT, title: '', description: '' },
  );
  readonly main = $derived(this.#models.find((card) => card.role === 'main') ?? null);

  /** The models that an agent can be asked with, if there is a choice. */
  offeredTo(agent: string): readonly ModelCard[] {
    return this.#models.filter((card) => card.role === OFFERED && card.agents?.includes(agent));
  }

  get choices(): readonly AgentChoice[] {
    return this.#choices;
  }

  /** The models of the roles. */
  get models(): readonly ModelCard[] {
    return this.#models.filter((card) => card.role !== OFFERED);
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Whether the server has said which models there are, or cannot be asked. */
  get areModelsKnown(): boolean {
    return this.#areModelsKnown;
  }

  /** Whether an agent can see documents of this browser at all. */
  readsDocuments(name: string): boolean {
    return READERS.includes(name);
  }

  /** Whether an agent is one of ours, whose state the app knows. */
  isBuiltIn(name: string): boolean {
    return name in text.agents.titles;
  }

  titleOf(name: string): string {
    return text.agents.titles[name] ?? capitalized(name.replace(/_/g, ' '));
  }

  /** The titles of agents that read the person's documents, of those that are served. */
  get readers(): string[] {
    return this.#choices.filter(({ name }) => this.readsDocuments(name)).map(({ title }) => title);
  }

  choose(name: string): void {
    this.#chosen = name;
    writeStored(STORED, name);
  }

  async load(): Promise<void> {
    const [assistants, me] = await Promise.all([
      this.api.assistants(),
      this.api.me().catch(() => null),
      this.lookAtModels(),
    ]);
    const hasTeam = (me?.workspaces.length ?? 0) > 0;
    this.#default = assistants.find(({ metadata }) => metadata?.['default'] === true)?.graph_id ?? DEFAULT;
    this.#choices = assistants.map((assistant) => this.#choice(assistant)).filter(({ name }) => hasTeam || name !== TEAM);
    this.#isLoaded = true;
  }

  async lookAtModels(): Promise<void> {
    this.#models = await this.api.models().catch(() => []);
    this.#areModelsKnown = true;
  }

  #choice({ graph_id: name, description }: AssistantWire): AgentChoice {
    const words = text.agents.descriptions[name] ?? description ?? '';
    return { name, title: this.titleOf(name), description: words };
  }
}
