import ListTodo from '@lucide/svelte/icons/list-todo';
import type { Extension } from '$lib/extend/extension';
import { text } from './text';
import { todosOf } from './todos';

export default {
  panels: [
    {
      id: 'plan',
      label: text.label,
      icon: ListTodo,
      order: 40,
      load: () => import('./PlanPanel.svelte'),
      badge: ({ conversation }) =>
        todosOf(conversation.values['todos']).filter((todo) => todo.status !== 'completed').length,
    },
  ],
} satisfies Extension;
