import type { News } from './attention';
import { inLanguage } from '$lib/languages/texts';

const hint = 'When an agent needs you or has finished while you look elsewhere. A notification never shows what was written.';

export const text = inLanguage('features/notifications/text:text', {
  label: 'Notifications',
  use: 'Notify me',
  hints: {
    default: hint,
    granted: hint,
    denied: 'Your browser blocks notifications from this page. You can allow them in its settings for this site.',
    unsupported: 'This browser can’t show notifications.',
  } satisfies Record<NotificationPermission | 'unsupported', string>,
  push: {
    on: 'You are also told while this page is closed.',
    failed: 'This browser could not be registered, so you are told only while this page is open.',
  },
  news: {
    waiting: 'An agent needs your answer',
    done: 'An answer is ready',
    failed: 'A run failed',
  } satisfies Record<News, string>,
});
