/** The next moment to draw: a frame, or soon where the page is hidden and has no frames. */
export function nextFrame(run: () => void): void {
  if (typeof document === 'undefined' || document.hidden) setTimeout(run, 50);
  else requestAnimationFrame(run);
}
