/** Colours for code. Fetched when code in a language is first shown; the text itself never changes. */
import '$lib/styles/code.css';
import { tokenizerOf } from './languages';
import type { Piece, Tokenizer } from './tokens';

/** A longer text takes its time to read and to draw, and nobody reads it by its colours. */
const LONGEST = 40_000;
const drawn = new WeakMap<HTMLElement, Piece[]>();

/** Draws code in colours; a language that is loaded colours at once, so that code that grows does not flicker. */
export async function highlight(place: HTMLElement, code: string, language: string, isGone: () => boolean): Promise<void> {
  if (isGone()) return;
  const found = code.length > LONGEST ? null : tokenizerOf(language);
  if (!(found instanceof Promise)) return draw(place, piecesOf(found, code));
  draw(place, piecesOf(null, code));
  const tokenizer = await found;
  if (!isGone()) draw(place, piecesOf(tokenizer, code));
}

function piecesOf(tokenizer: Tokenizer | null, code: string): Piece[] {
  try {
    if (tokenizer) return tokenizer(code);
  } catch {
    // A mode that does not get on with this code: it has no colours.
  }
  return [{ text: code, kind: '' }];
}

/** Leaves what is the same as before, and draws the rest. */
function draw(place: HTMLElement, pieces: Piece[]): void {
  const before = drawn.get(place) ?? [];
  let same = 0;
  while (same < before.length && before[same]!.text === pieces[same]?.text && before[same]!.kind === pieces[same]?.kind) same += 1;
  while (place.childNodes.length > same) place.lastChild!.remove();
  place.append(...pieces.slice(same).map(nodeOf));
  drawn.set(place, pieces);
}

function nodeOf({ text, kind }: Piece): Node {
  if (kind === '') return document.createTextNode(text);
  const span = document.createElement('span');
  span.className = `tok ${kind}`;
  span.textContent = text;
  return span;
}
