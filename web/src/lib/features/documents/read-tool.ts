/** Runs a tool that reads, for the agent that asks. */
import type { ToolContext } from '$lib/state/client-tools';
import { requesterOf } from './store/requester';
import type { Read } from './store/device';
import { useShelf } from './store/shelf.svelte';
import type { Fields, Json } from '$lib/protocol/wire';

export function run(name: Read, args: Fields, context: ToolContext): Promise<Json> {
  return useShelf().device.run(name, args, requesterOf(context));
}
