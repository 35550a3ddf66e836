/**
 * Positions in a text. The wire counts characters as Python does, where an emoji is one; a string
 * here counts it as two. Inside the app positions are those of strings; they are turned at the door.
 */
const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

/** A part of a text. */
export interface Span {
  start: number;
  end: number;
}

export class Positions {
  readonly #isPlain: boolean;
  readonly total: number;

  constructor(readonly text: string) {
    this.#isPlain = !PAIR.test(text);
    this.total = this.#isPlain ? text.length : text.length - (text.match(PAIRS)?.length ?? 0);
  }

  /** The wire's position of one here. */
  out(at: number): number {
    return this.#isPlain ? at : at - (this.text.slice(0, at).match(PAIRS)?.length ?? 0);
  }

  /** The position here of one of the wire; beyond the end is the end. */
  in(count: number): number {
    if (this.#isPlain || count >= this.total) return count >= this.total ? this.text.length : count;
    let at = 0;
    for (let seen = 0; seen < count; seen += 1) at += (this.text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    return at;
  }
}

/** The first `count` characters, as the wire counts them. */
export function firstOf(text: string, count: number): string {
  return text.length <= count ? text : text.slice(0, new Positions(text).in(count));
}

/** Where bytes of a text's UTF-8 form stand in the string. */
export function spanOfBytes(text: string, { start, end }: Span): Span {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const positionOf = (at: number) => decoder.decode(bytes.subarray(0, at)).length;
  return { start: positionOf(start), end: positionOf(end) };
}

/** The text as it survives UTF-8: half an emoji does not. */
export function wellFormed(text: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(text));
}
