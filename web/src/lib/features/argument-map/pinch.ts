/** Zoom by wheel with a modifier (a trackpad's pinch is one, too) and by two fingers; one finger and the bare wheel scroll. */
export function pinch(zoom: (factor: number) => void) {
  return (element: HTMLElement) => {
    const fingers = new Map<number, PointerEvent>();
    let before = 0;
    const distance = () => {
      const [a, b] = [...fingers.values()];
      return a && b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) : 0;
    };
    const down = (event: PointerEvent) => {
      if (event.pointerType !== 'touch') return;
      fingers.set(event.pointerId, event);
      before = distance();
    };
    const move = (event: PointerEvent) => {
      if (!fingers.has(event.pointerId)) return;
      fingers.set(event.pointerId, event);
      const now = distance();
      if (before && now) around(element, { x: event.clientX, y: event.clientY }, () => zoom(now / before));
      before = now;
    };
    const up = (event: PointerEvent) => {
      fingers.delete(event.pointerId);
      before = distance();
    };
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      around(element, { x: event.clientX, y: event.clientY }, () => zoom(Math.exp(-event.deltaY / 300)));
    };
    element.addEventListener('pointerdown', down);
    element.addEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel', 'pointerleave'] as const) element.addEventListener(name, up);
    element.addEventListener('wheel', wheel, { passive: false });
    // What was added to the element goes with it.
  };
}

/** The point under the pointer stays there. */
function around(element: HTMLElement, at: { x: number; y: number }, change: () => void): void {
  const box = element.getBoundingClientRect();
  const [x, y] = [at.x - box.left, at.y - box.top];
  const [width, height] = [element.scrollWidth, element.scrollHeight];
  const place = { x: (element.scrollLeft + x) / width, y: (element.scrollTop + y) / height };
  change();
  requestAnimationFrame(() => {
    element.scrollLeft = place.x * element.scrollWidth - x;
    element.scrollTop = place.y * element.scrollHeight - y;
  });
}
