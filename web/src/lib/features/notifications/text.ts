import type { News } from './attention';

const hint = 'When an agent needs you or has finished while you look elsewhere. A notification never shows what was written.';

export const text = {
  label: 'Notifications',
  use: 'Notify me',
  hints: {
    default: hint,
    granted: hint,
    denied: 'Your browser blocks notifications from this page. You can allow them in its settings for this site.',
    unsupported: 'This browser can’t show notifications.',
  } satisfies Record<NotificationPermission | 'unsupported', string>,
  news: {
    waiting: 'An agent needs your answer',
    done: 'An answer is ready',
    failed: 'A run failed',
  } satisfies Record<News, string>,
};
