/** What features add to the input of a run, besides the message. */
import type { Fields } from '$lib/protocol/wire';

/** The run that is about to start. */
export interface RunRequest {
  agent: string;
  threadId: string;
  /** The message of the person. */
  words: string;
  /** Nothing of the thread is on the server yet. */
  isNew: boolean;
}

/** Adds fields to the input of a run. When it throws, nothing is sent. */
export type RunInput = (run: RunRequest) => Fields | Promise<Fields>;

export async function gatherInput(inputs: Iterable<RunInput>, run: RunRequest): Promise<Fields> {
  const fields = await Promise.all([...inputs].map(async (input) => input(run)));
  return Object.assign({}, ...fields) as Fields;
}
