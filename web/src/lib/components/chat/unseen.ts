import { loadRenderer } from '$lib/markdown/renderer.svelte';
import { nextFrame } from '$lib/state/frames';

/** What is not in its place by then is shown nevertheless. */
const LONGEST_MS = 400;

const isInPlace = (list: HTMLElement) => !list.querySelector('[data-drawing]') && document.fonts?.status !== 'loading';

/** For the turns of a conversation that is opened: they take their places unseen, so that nothing jumps before the eyes. */
export function unseenUntilDrawn(isLoading: boolean) {
  return (list: HTMLElement) => {
    if (isLoading || !list.querySelector('[data-message]')) return;
    let isOver = false;
    let wasInPlace = false;
    const show = () => {
      isOver = true;
      list.classList.remove('unseen');
    };
    const look = () => {
      if (isOver) return;
      // Twice in a row: only a frame tells which fonts are needed.
      const isInPlaceNow = isInPlace(list);
      if (wasInPlace && isInPlaceNow) return show();
      wasInPlace = isInPlaceNow;
      nextFrame(look);
    };
    list.classList.add('unseen');
    void loadRenderer().then(() => nextFrame(look));
    const timer = setTimeout(show, LONGEST_MS);
    return () => {
      clearTimeout(timer);
      show();
    };
  };
}
