import { tick } from 'svelte';

/** How far from sight is near: what is fetched then is there before the person is. */
const MARGIN = '800px';

/**
 * For a button above a list, which adds to the list's beginning: it does so when it is pressed, and
 * by itself as soon as it is almost in sight. What is looked at stays where it is.
 */
export function whenNear(add: () => void) {
  return (button: HTMLElement) => {
    const box = button.closest<HTMLElement>('.scroll')!;
    const work = async () => {
      const next = button.nextElementSibling;
      const before = next?.getBoundingClientRect().top ?? 0;
      add();
      await tick();
      if (!next) return;
      box.scrollTop += next.getBoundingClientRect().top - before;
      if (!button.isConnected) return;
      watcher.unobserve(button); // to be told again if it is still near
      watcher.observe(button);
    };
    const watcher = new IntersectionObserver(([entry]) => void (entry?.isIntersecting && work()), { root: box, rootMargin: MARGIN });
    const press = () => void work();
    watcher.observe(button);
    button.addEventListener('click', press);
    return () => {
      watcher.disconnect();
      button.removeEventListener('click', press);
    };
  };
}
