/** The workspace: one object that every component reaches by `useWorkspace()`. */
import { getContext, setContext } from 'svelte';
import { Api } from '$lib/protocol/api';
import { Layout } from './layout.svelte';

const KEY = Symbol('workspace');

export class Workspace {
  readonly api: Api;
  readonly layout = new Layout();

  constructor(api: Api = new Api()) {
    this.api = api;
  }
}

export function provideWorkspace(workspace: Workspace): Workspace {
  return setContext(KEY, workspace);
}

export function useWorkspace(): Workspace {
  return getContext<Workspace>(KEY);
}
