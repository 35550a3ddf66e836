/** Arrow keys in the list of conversations: from the search box down to the links, and back. */
export function listKeys(event: KeyboardEvent): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const target = event.target as HTMLElement;
  const root = target.closest<HTMLElement>('[data-thread-list]');
  if (!root || event.altKey || event.ctrlKey || event.metaKey) return;
  const stops = [...root.querySelectorAll<HTMLElement>('#search-threads, .list a[href]')];
  const at = stops.indexOf(target);
  if (at < 0) return;
  const next = stops[at + (event.key === 'ArrowDown' ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
