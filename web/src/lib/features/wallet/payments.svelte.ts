/** Whether use is paid for here. The wallet itself is fetched only if it is. */
import type { AppState } from '$lib/state/app.svelte';
import type { Terms } from './core/till';
import type { Purse } from './purse.svelte';

class Payments {
  #purse = $state.raw<Purse | null>(null);
  #isOff = $state(false);

  /** The wallet, where use is paid for; null where it is not, or not yet known. */
  get purse(): Purse | null {
    return this.#purse;
  }

  /** Whether the server has said that nothing is paid for here. */
  get isOff(): boolean {
    return this.#isOff;
  }

  start(app: AppState): void {
    $effect.root(() => {
      $effect(() => {
        if (app.session.me && !this.#purse) void this.#load(app);
      });
    });
  }

  async #load(app: AppState): Promise<void> {
    const terms = await app.api.send<Terms>('GET', '/payments').catch(() => null);
    this.#isOff = terms !== null && !terms.enabled;
    if (!terms?.enabled || this.#purse) return;
    const { Purse: Loaded } = await import('./purse.svelte');
    this.#purse ??= new Loaded(app, terms);
  }
}

export const payments = new Payments();
