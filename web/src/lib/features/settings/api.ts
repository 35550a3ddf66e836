/** The choice of a model, on a server for one person at its machine. Keys go there and never come back. */
import type { Api } from '$lib/protocol/api';

export interface LocalModel {
  /** `provider:name` */
  name: string;
  /** Otherwise the program has to fetch it first. */
  is_here: boolean;
  size: number | null;
  licence: string | null;
  about: string;
}

/** A program that runs models, such as Ollama. */
export interface Program {
  provider: string;
  title: string;
  is_running: boolean;
  /** A command to install what the server lacks. */
  install: string | null;
  models: LocalModel[];
}

export interface Provider {
  provider: string;
  title: string;
  /** A model that it has. */
  example: string;
  /** Where its key is kept, if there is one. */
  key: 'stored' | 'environment' | null;
  install: string | null;
}

export interface SetupWire {
  model: string;
  /** The variable that chooses the model, so that nobody can here. */
  fixed_by: string | null;
  programs: Program[];
  providers: Provider[];
}

export class SetupApi {
  constructor(private readonly api: Api) {}

  read(): Promise<SetupWire> {
    return this.api.send('GET', '/models/setup');
  }

  choose(model: string): Promise<SetupWire> {
    return this.api.send('PUT', '/models/setup', { model });
  }

  setKey(provider: string, key: string): Promise<SetupWire> {
    return this.api.send('PUT', this.#place(provider), { key });
  }

  removeKey(provider: string): Promise<SetupWire> {
    return this.api.send('DELETE', this.#place(provider));
  }

  #place(provider: string): string {
    return `/models/setup/keys/${encodeURIComponent(provider)}`;
  }
}
