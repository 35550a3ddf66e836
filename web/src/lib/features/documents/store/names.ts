/** Titles of documents, and the patterns that find them. */
export const SUFFIXES: Readonly<Record<string, string>> = { markdown: '.md', text: '.txt', argdown: '.argdown' };
export const MAX_TITLE = 300;

/** The title without what no title has; null when nothing is left, or too much. */
export function cleanTitle(title: string): string | null {
  const clean = title.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return clean === '' || clean.length > MAX_TITLE ? null : clean;
}

/** The title with an ending that says its type, where it has none. */
export function withSuffix(title: string, type: string): string {
  return /\.[a-z0-9]{1,8}$/i.test(title) ? title : title + (SUFFIXES[type] ?? '');
}

export function typeOf(title: string): string {
  return /\.(md|markdown)$/i.test(title) ? 'markdown' : 'text';
}

/** A title that nobody has: with a number before its ending, where it is taken. */
export function freeTitle(title: string, taken: ReadonlySet<string>): string {
  if (!taken.has(title.toLowerCase())) return title;
  const [, stem, suffix] = title.match(/^(.*?)(\.[^.]{1,8})?$/s)!;
  for (let number = 2; ; number += 1) {
    const next = `${stem} ${number}${suffix ?? ''}`;
    if (!taken.has(next.toLowerCase())) return next;
  }
}

/** Whether a pattern with `*`, `?` and `[abc]` fits the whole title, or its last part. */
export function matchesTitle(title: string, pattern: string): boolean {
  const wanted = steps(pattern.toLowerCase());
  const name = title.toLowerCase();
  return fits(wanted, name) || fits(wanted, name.slice(name.lastIndexOf('/') + 1));
}

type Step = '*' | ((letter: string) => boolean);

function steps(pattern: string): Step[] {
  const found: Step[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const letter = pattern[at]!;
    const end = letter === '[' ? pattern.indexOf(']', at + (pattern[at + 1] === '!' ? 3 : 2)) : -1;
    if (letter === '*') {
      if (found.at(-1) !== '*') found.push('*');
    } else if (letter === '?') found.push(() => true);
    else if (end > 0) {
      found.push(oneOf(pattern.slice(at + 1, end)));
      at = end;
    } else found.push((other) => other === letter);
  }
  return found;
}

function oneOf(set: string): Step {
  const isNot = set.startsWith('!');
  const letters = isNot ? set.slice(1) : set;
  return (letter) => {
    let isIn = false;
    for (let at = 0; at < letters.length; at += 1) {
      if (letters[at + 1] === '-' && at + 2 < letters.length) {
        isIn ||= letter >= letters[at]! && letter <= letters[at + 2]!;
        at += 2;
      } else isIn ||= letter === letters[at];
    }
    return isIn !== isNot;
  };
}

/** Goes back to the last star only, so that no pattern takes long. */
function fits(wanted: readonly Step[], text: string): boolean {
  let [step, at, star, kept] = [0, 0, -1, 0];
  while (at < text.length) {
    const next = wanted[step];
    if (next === '*') {
      [star, kept] = [step, at];
      step += 1;
    } else if (next?.(text[at]!)) {
      [step, at] = [step + 1, at + 1];
    } else if (star >= 0) {
      kept += 1;
      [step, at] = [star + 1, kept];
    } else return false;
  }
  return wanted.slice(step).every((left) => left === '*');
}
