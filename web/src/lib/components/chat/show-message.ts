/** Bring a place of the conversation into sight, mark it for a moment and move the focus there. */
export function showPlace(place: HTMLElement): void {
  const box = place instanceof HTMLDetailsElement ? place.querySelector('summary')! : place;
  place.scrollIntoView({ block: 'center' });
  if (box === place) box.tabIndex = -1;
  box.focus({ preventScroll: true });
  place.animate({ backgroundColor: ['var(--warn-soft)', 'transparent'] }, { duration: 1800, easing: 'ease-in' });
}

/** The element of a message, or of a call, if it is on the page. */
export function findPlace(kind: 'message' | 'call', id: string | null | undefined): HTMLElement | null {
  return id ? document.querySelector<HTMLElement>(`[data-${kind}="${CSS.escape(id)}"]`) : null;
}
