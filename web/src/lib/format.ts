/** Counts, sizes, dates and lists, as people read them in the language of the page. */
import { locale } from './languages/current';

export function number(value: number, options?: Intl.NumberFormatOptions): string {
  return value.toLocaleString(locale(), options);
}

/** An exact decimal, such as an amount of money that the server sends as text. */
export function exact(value: string): string {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: 20 }).format(value as `${number}`);
}

/** With one digit after the point, such as `1.0`. */
export function decimal(value: number): string {
  return number(value, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** A count with its noun, for languages that tell one from many. */
export function plural(count: number, one: string, many: string): string {
  return `${number(count)} ${isOne(count) ? one : many}`;
}

/** Whether the language of the page uses the singular for this count. */
export function isOne(count: number): boolean {
  return new Intl.PluralRules(locale()).select(count) === 'one';
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${decimal(bytes / 1000)} kB`;
  return bytes < 1_000_000_000 ? `${decimal(bytes / 1_000_000)} MB` : `${decimal(bytes / 1_000_000_000)} GB`;
}

/** An amount of money; where it is less than the smallest coin, that coin. */
export function money(amount: number, currency: string): { words: string; isLess: boolean } {
  const format = new Intl.NumberFormat(locale(), { style: 'currency', currency });
  const least = 10 ** -(format.resolvedOptions().maximumFractionDigits ?? 2);
  return { words: format.format(Math.max(amount, least)), isLess: amount < least };
}

/** Seconds that something took; tenths where they matter. */
export function seconds(value: number): string {
  return `${value < 10 ? decimal(value) : number(Math.round(value))} s`;
}

/** A day and its time. */
export function moment(at: string | number | Date): string {
  return new Date(at).toLocaleString(locale(), { dateStyle: 'medium', timeStyle: 'short' });
}

export function day(at: string | number | Date): string {
  return new Date(at).toLocaleDateString(locale(), { dateStyle: 'medium' });
}

/** A time to the second, always of 24 hours. */
export function clock(at: string | number | Date): string {
  return new Date(at).toLocaleTimeString(locale(), { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
}

/** Things that belong together: `a and b`. */
export function list(things: readonly string[]): string {
  return new Intl.ListFormat(locale(), { type: 'conjunction' }).format(things);
}

export function capitalized(words: string): string {
  return words.charAt(0).toLocaleUpperCase(locale()) + words.slice(1);
}
