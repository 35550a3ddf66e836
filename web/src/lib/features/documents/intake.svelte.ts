/** How files get from a conversation into the person's documents: dropped, pasted or chosen. */
import { list } from '$lib/format';
import type { AppState } from '$lib/state/app.svelte';
import { text } from '$lib/text';

class FileIntake {
  #notes = $state.raw<readonly string[]>([]);

  /** What the person is told about the last files. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  dismiss(): void {
    this.#notes = [];
  }

  async take(files: readonly File[], app: AppState): Promise<void> {
    if (!files.length) return;
    this.#notes = [text.files.reading(files.length)];
    try {
      this.#notes = await this.#add(files, app);
    } catch (error) {
      this.#notes = [text.files.failed];
      throw error;
    }
  }

  async #add(files: readonly File[], app: AppState): Promise<string[]> {
    const { useShelf } = await import('./store/shelf.svelte');
    const shelf = useShelf();
    shelf.follow(app.conversation.id);
    const problems = await shelf.take(files);
    const added = files.length - problems.length;
    if (added && !app.layout.isPhone) app.layout.show('documents');
    return [...(added ? [text.files.added(added), ...unread(app)] : []), ...problems];
  }
}

function unread({ agents, agent }: AppState): string[] {
  if (agents.readsDocuments(agent) || !agents.readers.length) return [];
  return [text.files.unread(agents.titleOf(agent), list(agents.readers))];
}

let shared: FileIntake | undefined;

/** The one of this page. */
export function useIntake(): FileIntake {
  shared ??= new FileIntake();
  return shared;
}
