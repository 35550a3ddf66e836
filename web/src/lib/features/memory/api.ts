/** The notes that agents keep about the person. Whose they are is the server's decision alone. */
import type { Api } from '$lib/protocol/api';

export interface Note {
  name: string;
  text: string;
  by: 'agent' | 'person';
  changed_at: string | null;
}

export interface MemoryWire {
  /** The operator's setting. */
  mode: 'off' | 'opt-in' | 'opt-out';
  is_on: boolean;
  notes: Note[];
  max_notes: number;
  max_characters: number;
}

export class MemoryApi {
  constructor(private readonly api: Api) {}

  read(): Promise<MemoryWire> {
    return this.api.send('GET', '/memories');
  }

  turn(isOn: boolean): Promise<MemoryWire> {
    return this.api.send('PUT', '/memories', { is_on: isOn });
  }

  write(name: string, text: string): Promise<MemoryWire> {
    return this.api.send('PUT', this.#place(name), { text });
  }

  async delete(name: string): Promise<MemoryWire> {
    await this.api.send('DELETE', this.#place(name));
    return this.read();
  }

  #place(name: string): string {
    return `/memories/${encodeURIComponent(name)}`;
  }
}
