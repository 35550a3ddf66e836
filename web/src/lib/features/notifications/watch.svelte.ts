import type { AppState } from '$lib/state/app.svelte';
import { THREAD_STATUS } from '$lib/state/thread';
import { Attention } from './attention';
import { showMarks } from './marks';
import { notifier } from './notifier.svelte';
import { push } from './push.svelte';

const LOOK_MS = 20_000;

/** Tell the person what happens in their conversations while the page is hidden. */
export function watch(app: AppState): void {
  const { threads, unseen, session } = app;
  const attention = new Attention({
    isHidden: () => document.hidden,
    ontell: (id, news) => {
      unseen.add(id);
      void notifier.show(id, news, () => app.open(id)).catch(() => undefined); // the marks are there
    },
  });
  $effect.root(() => {
    // The list learns of a new conversation late, perhaps after its first run: the page knows its own better.
    $effect(() => attention.see(threads.all.filter(({ id }) => id !== app.conversation.id)));
    $effect(() => {
      const { id, isLoading, status } = app.conversation;
      if (!isLoading) attention.see([{ id, status: app.isBusy ? 'busy' : THREAD_STATUS[status] }]);
    });
    $effect(() => showMarks(unseen.size));
    // At every start: keys change, and another person may use this browser now.
    $effect(() => {
      if (notifier.isOn && session.me) void push.subscribe(app.api);
    });
  });
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return;
    attention.clear();
    unseen.clear();
  });
  // A hidden page reads no stream for long.
  setInterval(() => {
    if (document.hidden && attention.isExpecting && !session.isAsking) void threads.load();
  }, LOOK_MS);
  navigator.serviceWorker?.addEventListener('message', ({ data, ports }: MessageEvent<{ open?: unknown; looksAt?: unknown }>) => {
    if (typeof data.open === 'string') app.open(data.open.replace('/c/', ''));
    if (data.looksAt) ports[0]?.postMessage(document.hasFocus() && location.pathname === data.looksAt);
  });
}
