/** Where the person is: a new conversation `/`, a thread `/c/<id>`, or a page `/<name>`. */
export class Route {
  #path = $state(location.pathname);

  constructor() {
    addEventListener('popstate', () => (this.#path = location.pathname));
  }

  readonly threadId = $derived(this.#path.match(/^\/c\/([0-9a-f-]{36})$/i)?.[1]?.toLowerCase() ?? null);
  readonly page = $derived(this.#path.match(/^\/([a-z][a-z-]*)$/)?.[1] ?? null);

  /** Neither of them: nothing is at this address. */
  readonly isUnknown = $derived(this.#path !== '/' && this.threadId === null && this.page === null);

  go(path: string, { replaces = false } = {}): void {
    if (path === this.#path) return;
    if (replaces) history.replaceState(null, '', path);
    else history.pushState(null, '', path);
    this.#path = path;
  }
}
