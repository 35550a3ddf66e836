/** What the person chooses about the model, and what becomes of it. */
import { problemOf } from '$lib/state/problem';
import type { Agents } from '$lib/state/agents.svelte';
import type { SetupApi, LocalModel, SetupWire } from './api';

export class Setup {
  #wire = $state.raw<SetupWire | null>(null);
  #problem = $state('');
  /** What could not be changed; '' where nothing could be read. */
  #failed = $state('');
  /** What is being changed: a model's name or a provider's; '' for nothing. */
  #busy = $state('');

  /** The model before a download began: it is used again if the person cancels. */
  #before = 'demo:tour';

  constructor(
    private readonly api: SetupApi,
    private readonly agents: Agents,
  ) {}

  get wire(): SetupWire | null {
    return this.#wire;
  }

  /** Why something could not be changed, beside which it is shown; by default, why nothing is known. */
  problemOf(what = ''): string {
    return this.#failed === what ? this.#problem : '';
  }

  get busy(): string {
    return this.#busy;
  }

  /** Whether the choice is the person's. */
  readonly isOpen = $derived(this.#wire !== null && this.#wire.fixed_by === null);

  isUsed(name: string): boolean {
    return this.#wire?.model === name;
  }

  /** Look at what there is now. */
  async look(): Promise<void> {
    await this.#take('', () => this.api.read());
  }

  /** Use a model; one that is not here yet is fetched first. */
  async use(model: Pick<LocalModel, 'name' | 'is_here'>): Promise<boolean> {
    if (!this.isUsed(model.name)) this.#before = this.#wire?.model ?? this.#before;
    if (!this.isUsed(model.name) && !(await this.#take(model.name, () => this.api.choose(model.name)))) return false;
    if (!model.is_here) {
      await this.agents.loading.start();
      await this.look();
    }
    await this.agents.lookAtModels();
    return true;
  }

  /** Give up a download. */
  async cancel(): Promise<void> {
    await this.#take(this.#before, () => this.api.choose(this.#before));
    await this.agents.lookAtModels();
  }

  saveKey(provider: string, key: string): Promise<boolean> {
    return this.#take(provider, () => this.api.setKey(provider, key.trim()));
  }

  async removeKey(provider: string): Promise<boolean> {
    const isDone = await this.#take(provider, () => this.api.removeKey(provider));
    if (isDone) await this.agents.lookAtModels();
    return isDone;
  }

  /** Do something that answers with the choices as they are then; whether it was done. */
  async #take(what: string, work: () => Promise<SetupWire>): Promise<boolean> {
    this.#problem = '';
    this.#busy = what;
    try {
      this.#wire = await work();
      return true;
    } catch (error) {
      this.#problem = problemOf(error, null).message;
      this.#failed = what;
      return false;
    } finally {
      this.#busy = '';
    }
  }
}
