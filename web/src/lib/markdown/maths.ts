/**
 * Formulas, typeset by KaTeX. Fetched with its styles and fonts when a formula is first shown.
 *
 * A formula is foreign text: nothing in it is trusted, it defines no macros (with them a short
 * formula can grow without end), and what KaTeX refuses stays as it was written. The page's policy
 * refuses style attributes, so that the styles are set on the elements instead.
 */
import katex from 'katex';
import 'katex/dist/katex.min.css';
import '$lib/styles/maths.css';
import { formulaOf, type Formula } from './formulas';

const OPTIONS = { throwOnError: true, strict: 'ignore', trust: false, maxExpand: 1_000, maxSize: 20 } as const;
const DEFINES = /\\(?:[gex]?def|let|futurelet|(?:re)?newcommand|providecommand|global|long)(?![a-zA-Z])/;
const ACTIVE = 'a, img, script, style, iframe, [href], [src], [id]';
const MOST_COLUMNS = 400;
const MOST_HTML = 500_000;
const DEEPEST = 150;
const MOST_PARTS = 20_000;
const MOST_KEPT = 400;

const kept = new Map<string, HTMLElement | null>();

/** Shows a formula in the place of its source; false where it cannot be typeset. */
export function typeset(source: HTMLElement): boolean {
  const raw = source.textContent;
  const made = typesetOnce(raw)?.cloneNode(true) as HTMLElement | undefined;
  if (!made) return false;
  made.dataset['source'] = raw;
  source.replaceWith(made);
  if (made.classList.contains('display')) widths.observe(made);
  return true;
}

function typesetOnce(raw: string): HTMLElement | null {
  const known = kept.get(raw);
  if (known !== undefined) return known;
  const formula = formulaOf(raw);
  const made = formula && drawn(formula);
  if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!);
  kept.set(raw, made);
  return made;
}

function drawn({ tex, isDisplay }: Formula): HTMLElement | null {
  if (DEFINES.test(tex) || tex.split('&').length > MOST_COLUMNS) return null;
  try {
    const html = katex.renderToString(tex, { ...OPTIONS, displayMode: isDisplay });
    if (html.length > MOST_HTML) return null;
    const holder = document.createElement('template');
    // Quotes in texts and values are escaped: this is an attribute wherever it stands.
    holder.innerHTML = html.replaceAll(' style="', ' data-style="');
    if (holder.content.querySelector(ACTIVE) || !isModest(holder.content)) return null;
    for (const part of holder.content.querySelectorAll<HTMLElement | SVGElement>('[data-style]')) {
      part.style.cssText = part.dataset['style']!;
      delete part.dataset['style'];
    }
    const formula = document.createElement('span');
    formula.className = isDisplay ? 'formula display' : 'formula';
    formula.append(holder.content);
    return formula;
  } catch {
    return null; // not LaTeX that KaTeX knows, or nested too deeply
  }
}

/** Whether it is not nested so deeply, and has not so many parts, that the page would stop to lay it out. */
function isModest(root: DocumentFragment): boolean {
  let depth = 0;
  let parts = 0;
  for (let part = root.firstElementChild; part; parts += 1) {
    if (depth > DEEPEST || parts > MOST_PARTS) return false;
    if (part.firstElementChild) {
      part = part.firstElementChild;
      depth += 1;
      continue;
    }
    while (part && !part.nextElementSibling) {
      part = part.parentElement;
      depth -= 1;
    }
    part = part?.nextElementSibling ?? null;
  }
  return true;
}

/** A formula that is too wide for its place scrolls, by keys too. */
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.setAttribute('tabindex', '0');
    else target.removeAttribute('tabindex');
  }
});
