/** Which card answers which request; a type that nobody knows gets a form from its schema. */
import CircleHelp from '@lucide/svelte/icons/circle-question-mark';
import ShieldQuestion from '@lucide/svelte/icons/shield-question-mark';
import Wrench from '@lucide/svelte/icons/wrench';
import type { Component } from 'svelte';
import { gistOf, titleOf } from '$lib/components/activity/gist';
import type { RequestCardProps } from '$lib/extensions/types';
import type { Fields } from '$lib/protocol/wire';
import { toolRequest } from '$lib/state/client-tools';
import { isFields } from '$lib/protocol/fields';
import type { Question } from '$lib/stream/view';
import { text } from '$lib/text';
import ApprovalCard from './ApprovalCard.svelte';
import BatchCard from './BatchCard.svelte';
import ClarifyCard from './ClarifyCard.svelte';
import GenericCard from './GenericCard.svelte';

const CARDS: Record<string, Component<RequestCardProps>> = {
  clarification_request: ClarifyCard,
  tool_approval: ApprovalCard,
  batch: BatchCard,
};

export function kindOf({ type, payload }: Question): string {
  const fields = isFields(payload) ? payload : {};
  if (Array.isArray(fields['action_requests'])) return 'batch';
  const isChange = type === 'tool_approval' && typeof fields['diff'] === 'string' && typeof fields['path'] === 'string';
  return isChange ? 'file_change' : type;
}

export function cardOf(question: Question): Component<RequestCardProps> {
  return CARDS[kindOf(question)] ?? GenericCard;
}

export function iconOf(question: Question): Component<{ size?: number | string }> {
  const kind = kindOf(question);
  if (kind === 'clarification_request') return CircleHelp;
  return kind === 'tool' ? Wrench : ShieldQuestion;
}

/** What goes after the name of who asks. */
export function headlineOf(question: Question): string {
  const fields = isFields(question.payload) ? question.payload : {};
  switch (kindOf(question)) {
    case 'clarification_request':
      return text.requests.asks;
    case 'tool_approval':
    case 'file_change':
      return wants(String(fields['name'] ?? ''), isFields(fields['args']) ? fields['args'] : {});
    case 'tool':
      return wants(toolRequest(question)?.name ?? '', toolRequest(question)?.args ?? {});
    case 'batch':
      return text.requests.wantsSeveral;
    default:
      return text.requests.needs;
  }
}

function wants(name: string, args: Fields): string {
  return text.requests.wantsTo(titleOf(name), gistOf({ name, args }));
}
