/** Keeps a growing list at its end, unless the person has scrolled up to read. */
const NEAR = 80;

export function stickToEnd(isOn: () => boolean) {
  let isAtEnd = $state(true);
  let box: HTMLElement | null = null;

  const measure = () => {
    if (box) isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
  };

  return {
    get isAtEnd() {
      return isAtEnd;
    },
    /** Do not follow: another place is looked at. */
    leave() {
      isAtEnd = false;
    },
    toEnd() {
      isAtEnd = true;
      if (box) box.scrollTop = box.scrollHeight;
    },
    attach: (element: HTMLElement) => {
      box = element;
      // What grows is seen by its size; the person's own scrolling decides whether we follow.
      const grown = new ResizeObserver(() => {
        if (isAtEnd && isOn()) element.scrollTop = element.scrollHeight;
        else measure();
      });
      grown.observe(element);
      for (const child of element.children) grown.observe(child);
      element.addEventListener('scroll', measure, { passive: true });
      return () => {
        grown.disconnect();
        element.removeEventListener('scroll', measure);
        box = null;
      };
    },
  };
}
