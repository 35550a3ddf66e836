/** Shows code in an element: as text at once, in colours when they are loaded. */
let highlight: (typeof import('./highlight'))['highlight'] | null = null;

export function paint(code: string, language: string) {
  return (place: HTMLElement): (() => void) => {
    let isGone = false;
    const colour = () => highlight?.(place, code, language, () => isGone);
    if (!highlight || !language) place.textContent = code;
    // Without colours it is code all the same.
    if (language) (highlight ? colour() : load().then(colour))?.catch(() => undefined);
    return () => (isGone = true);
  };
}

async function load(): Promise<void> {
  ({ highlight } = await import('./highlight'));
}
