/** A table as CSV (RFC 4180), in which no cell is taken for a formula by a spreadsheet. */

const NUMBER = /^[-+]?\d[\d.,]*%?$/;
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `${cells.map(fieldOf).join(',')}\r\n`).join('');
}

function fieldOf(cell: string): string {
  const words = cell.trim().replaceAll('\u2212', '-'); // a minus sign, which spreadsheets do not read
  const safe = FORMULA.test(words) && !NUMBER.test(words) ? `'${words}` : words;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The cells of a table as a person reads them: formulas as they were written, links without their host. */
export function cellsOf(table: HTMLTableElement): string[][] {
  return [...table.rows].map((row) => [...row.cells].map(wordsOf));
}

function wordsOf(cell: HTMLElement): string {
  const copy = cell.cloneNode(true) as HTMLElement;
  for (const formula of copy.querySelectorAll<HTMLElement>('.formula')) formula.replaceWith(formula.dataset['source'] ?? '');
  for (const host of copy.querySelectorAll('.host')) host.remove();
  for (const end of copy.querySelectorAll('br')) end.replaceWith('\n');
  return copy.textContent;
}
