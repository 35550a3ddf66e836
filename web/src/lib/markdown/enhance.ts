/** What a block of Markdown gets after it was sanitised: typeset formulas, and tools for its tables. */

type Maths = typeof import('./maths');
type Tables = typeof import('./tables');
let maths: Maths | null = null;
let tables: Tables | null = null;

/** Typesetting for longer than this in one go would be noticed. */
const SLICE_MS = 12;

/** Puts HTML from `render` into an element, and loads what its formulas and tables need. */
export function show(html: string) {
  return (block: HTMLElement): (() => void) => {
    let isGone = false;
    block.innerHTML = html;
    const grids = [...block.querySelectorAll<HTMLElement>('.grid')];
    const formulas = [...block.querySelectorAll<HTMLElement>('code.math')];
    const added = [];
    if (grids.length) added.push(addTools(grids));
    if (formulas.length) added.push(typesetAll(formulas, () => isGone));
    if (added.length) {
      block.dataset.drawing = '';
      // What cannot be loaded is left out: the words are there.
      void Promise.allSettled(added).then(() => delete block.dataset.drawing);
    }
    return () => (isGone = true);
  };
}

async function addTools(grids: readonly HTMLElement[]): Promise<void> {
  tables ??= await import('./tables');
  grids.forEach(tables.addTools);
}

/** At once where it can be: a text that grows is drawn again with each word. */
async function typesetAll(formulas: readonly HTMLElement[], isGone: () => boolean): Promise<void> {
  maths ??= await import('./maths');
  let end = performance.now() + SLICE_MS;
  for (const formula of formulas) {
    if (performance.now() > end) {
      await new Promise((resolve) => setTimeout(resolve));
      end = performance.now() + SLICE_MS;
    }
    if (isGone()) return;
    maths.typeset(formula);
  }
}
