/** Whether use is paid for here. The wallet itself is fetched only if it is. */
import type { Workspace } from '$lib/state/workspace.svelte';
import type { Terms } from '$lib/wallet/till';
import type { Purse } from './purse.svelte';

class Payments {
  #purse = $state.raw<Purse | null>(null);

  /** The wallet, where use is paid for; null where it is not, or not yet known. */
  get purse(): Purse | null {
    return this.#purse;
  }

  start(workspace: Workspace): void {
    $effect.root(() => {
      $effect(() => {
        if (workspace.session.me && !this.#purse) void this.#load(workspace);
      });
    });
  }

  async #load(workspace: Workspace): Promise<void> {
    const terms = await workspace.api.send<Terms>('GET', '/payments').catch(() => null);
    if (!terms?.enabled || this.#purse) return;
    const { Purse: Loaded } = await import('./purse.svelte');
    this.#purse ??= new Loaded(workspace, terms);
  }
}

export const payments = new Payments();
