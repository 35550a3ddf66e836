/** From a node to where it comes from: the words in the conversation, or the span of a document. */
import { tick } from 'svelte';
import { findPlace, showPlace } from '$lib/components/chat/show-message';
import type { MapNode } from './map';
import type { Extensions } from '$lib/extensions/registry';
import type { DocumentQuote } from '$lib/extensions/types';
import type { AppState } from '$lib/state/app.svelte';
import type { View } from '$lib/stream/view';

export async function toMessage(node: MapNode, app: AppState): Promise<boolean> {
  app.layout.showChat();
  await tick();
  const place = placeOf(node, app.conversation.view) ?? (await placeFarAbove(node, app));
  if (!place) return false;
  showPlace(place);
  return true;
}

/** A document is opened where it is kept: in this browser. */
export async function toFile(node: MapNode, app: AppState, { quoteOpeners }: Extensions): Promise<boolean> {
  try {
    for (const open of quoteOpeners) {
      if ((await open(quoteOf(node))) === 'deleted') return false;
    }
  } catch {
    return false;
  }
  app.layout.show('documents');
  return true;
}

/** What a node quotes from a document. */
export function quoteOf({ source }: MapNode): DocumentQuote {
  const { file = '', version = '', start = 0, end = 0, quote = '' } = source;
  return { file, version, start, end, quote };
}

/** It may be in a turn that is not drawn yet. */
async function placeFarAbove(node: MapNode, app: AppState): Promise<HTMLElement | null> {
  app.shownTurns.from(0);
  await tick();
  return placeOf(node, app.conversation.view);
}

function placeOf({ source }: MapNode, view: View): HTMLElement | null {
  const message = findPlace('message', source.message);
  if (message) return message;
  // Words of a subagent are in its card; an answer to a question is the result of its call.
  const agent = Object.values(view.agents).find((other) => other.messages.some(({ id }) => id === source.message));
  const call = Object.values(view.calls).find(
    (other) => other.name === 'ask_user' && source.said !== undefined && other.result?.includes(source.said),
  );
  return findPlace('call', agent?.callId) ?? findPlace('call', call?.id);
}
