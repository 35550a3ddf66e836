/** What tabs of this browser tell each other; the server tells them everything else. */
export type Notice =
  | { kind: 'answered'; threadId: string; keys: string[] }
  | { kind: 'threads' }
  | { kind: 'signed out' };

export class Tabs {
  #channel: BroadcastChannel | null =
    typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('bathysphere');

  tell(notice: Notice): void {
    this.#channel?.postMessage(notice);
  }

  listen(hear: (notice: Notice) => void): () => void {
    const channel = this.#channel;
    const listener = (event: MessageEvent<Notice>) => hear(event.data);
    channel?.addEventListener('message', listener);
    return () => channel?.removeEventListener('message', listener);
  }
}
