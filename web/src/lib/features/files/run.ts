/** Runs a tool that reads, for the agent that asks. */
import type { ToolContext } from '$lib/extend/extension';
import { askingOf } from '$lib/files/asking';
import type { Read } from '$lib/files/device';
import { useShelf } from '$lib/files/shelf.svelte';
import type { Fields, Json } from '$lib/protocol/wire';

export function run(name: Read, args: Fields, context: ToolContext): Promise<Json> {
  return useShelf().device.run(name, args, askingOf(context));
}
