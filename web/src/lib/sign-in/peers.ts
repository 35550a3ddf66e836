/** Tabs of this browser share a sign-in: a refresh token that two tabs used would end it for both. */
import type { Tokens } from './client';

const ANSWER_MS = 150;

type Message = { kind: 'ask'; after: number } | { kind: 'tokens'; issuer: string; tokens: Tokens };

export class Peers {
  readonly #channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('bathysphere.sign-in');
  #heard: ((tokens: Tokens) => void) | null = null;

  /**
   * @param issuer Whose tokens they are: issuer and client.
   * @param current What this tab has.
   * @param onnews Told of tokens of another tab.
   */
  constructor(
    private readonly issuer: string,
    private readonly current: () => Tokens | null,
    private readonly onnews: (tokens: Tokens) => void,
  ) {
    this.#channel?.addEventListener('message', (event: MessageEvent<Message>) => this.#hear(event.data));
  }

  tell(tokens: Tokens): void {
    this.#channel?.postMessage({ kind: 'tokens', issuer: this.issuer, tokens } satisfies Message);
  }

  /** Let other tabs tell what they have that is newer; `onnews` has heard it when this is over. */
  async ask(after: number): Promise<void> {
    if (this.#channel === null) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ANSWER_MS);
      this.#heard = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#channel?.postMessage({ kind: 'ask', after } satisfies Message);
    });
    this.#heard = null;
  }

  #hear(message: Message): void {
    if (message.kind === 'ask') {
      const tokens = this.current();
      if (tokens && tokens.since > message.after) this.tell(tokens);
    } else if (message.issuer === this.issuer) {
      this.onnews(message.tokens);
      this.#heard?.(message.tokens);
    }
  }
}
