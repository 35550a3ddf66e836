/** Documents that a message names with `@`. */

interface Titled {
  id: string;
  title: string;
}

/** Those whose title has these letters; first those that begin with them. */
export function fitting<T extends Titled>(rows: readonly T[], letters: string): T[] {
  const wanted = letters.replace(/^[“"]/u, '').toLowerCase();
  const place = ({ title }: T) => title.toLowerCase().indexOf(wanted);
  const fit = rows.filter((row) => place(row) >= 0);
  return [...fit.filter((row) => place(row) === 0), ...fit.filter((row) => place(row) > 0)];
}

/** How a message names a document. */
export function mentionOf(title: string): string {
  return /\s/u.test(title) ? `@“${title}”` : `@${title}`;
}

/** The documents that a message names. */
export function namedIn<T extends Titled>(words: string, documents: readonly T[]): T[] {
  return documents.filter(({ title }) => isNamed(words, mentionOf(title)));
}

/** Not where the name goes on: `@plan.md` does not name `plan.m`. */
function isNamed(words: string, mention: string): boolean {
  for (let at = words.indexOf(mention); at >= 0; at = words.indexOf(mention, at + 1)) {
    if (!/^[\p{L}\p{N}_]/u.test(words.slice(at + mention.length))) return true;
  }
  return false;
}
