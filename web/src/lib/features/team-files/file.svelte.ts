/** One file of a workspace as far as it was read: lines in windows, or a picture. */
import type { FileWindow, TeamApi } from './api';

const LINES = 500;
const PICTURES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
};

const suffixOf = (path: string) => path.slice(path.lastIndexOf('.') + 1).toLowerCase();

export class OpenFile {
  #workspace: string | null = null;
  #path = $state<string | null>(null);
  #window = $state.raw<FileWindow | null>(null);
  #text = $state('');
  #picture = $state<string | null>(null);
  #problem = $state<string | null>(null);
  #isLoading = $state(false);
  #turn = 0;

  constructor(private readonly api: TeamApi) {}

  readonly isMarkdown = $derived(/\.(md|markdown)$/i.test(this.#path ?? ''));

  get path(): string | null {
    return this.#path;
  }

  /** The newest part that was read: size, version and time are the file's. */
  get window(): FileWindow | null {
    return this.#window;
  }

  get text(): string {
    return this.#text;
  }

  /** Where the picture can be shown from; null where it is none. */
  get picture(): string | null {
    return this.#picture;
  }

  get problem(): string | null {
    return this.#problem;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  async open(workspace: string, path: string): Promise<void> {
    this.close();
    [this.#workspace, this.#path] = [workspace, path];
    await this.reload();
  }

  close(): void {
    this.#turn += 1;
    this.#show(null, '');
    [this.#path, this.#problem, this.#isLoading] = [null, null, false];
  }

  /** Read it again, as many lines as were shown. */
  async reload(): Promise<void> {
    const lines = Math.min(Math.max(LINES, this.#window?.end_line ?? 0), 5000);
    await this.#read(0, lines, (window) => this.#show(window, window.file.content));
  }

  async more(): Promise<void> {
    const offset = this.#window?.next_offset;
    if (offset === null || offset === undefined) return;
    const version = this.#window?.version;
    let isOther = false;
    await this.#read(offset, LINES, (window) => {
      isOther = window.version !== version;
      if (!isOther) this.#show(window, this.#text + window.file.content);
    });
    if (isOther) await this.reload(); // lines of two versions are not put together
  }

  async #read(offset: number, limit: number, put: (window: FileWindow) => void): Promise<void> {
    const [workspace, path] = [this.#workspace, this.#path];
    if (workspace === null || path === null) return;
    const turn = ++this.#turn;
    this.#isLoading = true;
    try {
      const window = await this.api.file(workspace, path, { offset, limit });
      if (turn !== this.#turn) return;
      this.#problem = null;
      put(window);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#show(null, '');
      this.#problem = error instanceof Error ? error.message : String(error);
    } finally {
      if (turn === this.#turn) this.#isLoading = false;
    }
  }

  #show(window: FileWindow | null, content: string): void {
    if (this.#picture !== null) URL.revokeObjectURL(this.#picture);
    const type = window?.file.encoding === 'base64' ? PICTURES[suffixOf(window.path)] : undefined;
    this.#picture = type ? URL.createObjectURL(new Blob([bytesOf(content)], { type })) : null;
    this.#text = window?.file.encoding === 'base64' ? '' : content;
    this.#window = window;
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
