import ListTodo from '@lucide/svelte/icons/list-todo';
import type { Extension } from '$lib/extend/extension';
import { text } from './text';

export default {
  panels: [{ id: 'plan', label: text.label, icon: ListTodo, order: 40, load: () => import('./PlanPanel.svelte') }],
} satisfies Extension;
