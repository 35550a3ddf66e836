/** Marks of news beside the title: the page's icon, and the badge of the installed app. */

const PLAIN = '/icon.svg';
const MARKED = '/icon-news.svg';

export function showMarks(count: number): void {
  document.querySelector('link[rel="icon"]')?.setAttribute('href', count > 0 ? MARKED : PLAIN);
  // Only installed apps have a badge, and only some browsers.
  void (count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.())?.catch(() => undefined);
}
