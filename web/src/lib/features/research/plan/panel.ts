/** The tab with the agent's list of things to do and the plan of a research run. */
import ListTodo from '@lucide/svelte/icons/list-todo';
import type { Panel } from '$lib/extensions/types';
import { isFields } from '$lib/protocol/fields';
import { text } from './panel.text';
import { todosOf } from './todos';

export const planPanel: Panel = {
  id: 'plan',
  label: () => text.label,
  icon: ListTodo,
  tab: 'work',
  order: 40,
  load: () => import('./PlanPanel.svelte'),
  isFilled: ({ conversation: { values, view } }) => 
    isFields(values['plan']) || Object.values(view.agents).some((agent) => todosOf(agent.values['todos']).length > 0),
  badge: ({ conversation }) => todosOf(conversation.values['todos']).filter((todo) => todo.status !== 'completed').length,
};
