/** The agents that can be asked, and the models that answer. */
import type { Api, ModelCard } from '$lib/protocol/api';
import type { AssistantWire } from '$lib/protocol/wire';
import { text } from '$lib/text';

const STORED = 'bathysphere.agent';
const DEFAULT = 'simple';

export interface AgentChoice {
  name: string;
  title: string;
  description: string;
}

export class Agents {
  #choices = $state.raw<readonly AgentChoice[]>([]);
  #models = $state.raw<readonly ModelCard[]>([]);
  #chosen = $state(localStorage.getItem(STORED) ?? DEFAULT);
  #isLoaded = $state(false);

  constructor(private readonly api: Api) {}

  /** The agent of new threads: the last one chosen, while it is served. */
  readonly chosen = $derived(
    this.#choices.find((choice) => choice.name === this.#chosen) ??
      this.#choices.find((choice) => choice.name === DEFAULT) ??
      this.#choices[0] ?? { name: this.#chosen, title: '', description: '' },
  );
  readonly main = $derived(this.#models.find((card) => card.role === 'main') ?? null);

  get choices(): readonly AgentChoice[] {
    return this.#choices;
  }

  get models(): readonly ModelCard[] {
    return this.#models;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  titleOf(name: string): string {
    return text.agents.titles[name] ?? (name ? name[0]!.toUpperCase() + name.slice(1).replace(/_/g, ' ') : '');
  }

  choose(name: string): void {
    this.#chosen = name;
    localStorage.setItem(STORED, name);
  }

  async load(): Promise<void> {
    const [assistants] = await Promise.all([this.api.assistants(), this.lookAtModels()]);
    this.#choices = assistants.map((assistant) => this.#choice(assistant));
    this.#isLoaded = true;
  }

  async lookAtModels(): Promise<void> {
    this.#models = await this.api.models().catch(() => []);
  }

  #choice({ graph_id: name, description }: AssistantWire): AgentChoice {
    const words = text.agents.descriptions[name] ?? description ?? '';
    return { name, title: this.titleOf(name), description: words };
  }
}
