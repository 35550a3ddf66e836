/** The map as a PNG image, drawn as the page draws it, in the colours of the page. */
import { draw, naturalWidth, type Box, type Edge } from './layout';
import type { ArgumentMap, Bond } from './map';
import { nameOf } from './names';
import { mapText as text } from './text';

const SCALE = 2;
const MARGIN = 24;
/** More than this a browser may refuse to draw. */
const LARGEST = 12_000;
const MOST_LINES = 4;
const DASHES: Record<Bond, number[]> = { supports: [], attacks: [5, 3], answers: [1.5, 3] };
const COLOURS: Record<Bond, string> = { supports: '--good', attacks: '--bad', answers: '--accent' };

type Colour = (name: string) => string;

export async function asPng(map: ArgumentMap): Promise<Blob> {
  const drawing = draw(map, naturalWidth(map));
  const [width, height] = [drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN];
  const scale = Math.min(SCALE, LARGEST / Math.max(width, height));
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
  const context = canvas.getContext('2d');
  if (!context) throw new Error(text.noImage);
  const styles = getComputedStyle(document.documentElement);
  const colour: Colour = (name) => styles.getPropertyValue(name).trim();
  context.scale(scale, scale);
  context.fillStyle = colour('--paper');
  context.fillRect(0, 0, width, height);
  context.translate(MARGIN, MARGIN);
  for (const edge of drawing.edges) drawEdge(context, edge, colour);
  for (const box of drawing.boxes) drawBox(context, box, colour);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (!blob) throw new Error(text.noImage);
  return blob;
}

function drawEdge(context: CanvasRenderingContext2D, { kind, path, end }: Edge, colour: Colour): void {
  context.strokeStyle = context.fillStyle = colour(COLOURS[kind]);
  context.lineWidth = 1.8;
  context.setLineDash(DASHES[kind]);
  context.stroke(new Path2D(path));
  context.setLineDash([]);
  const back = end.isUp ? 8 : -8;
  context.fill(new Path2D(`M${end.x} ${end.y - back / 4}L${end.x - 4} ${end.y + back}L${end.x + 4} ${end.y + back}z`));
}

function drawBox(context: CanvasRenderingContext2D, { node, x, y, width, height }: Box, colour: Colour): void {
  context.beginPath();
  context.roundRect(x, y, width, height, 7);
  context.fillStyle = colour('--surface');
  context.fill();
  context.strokeStyle = colour('--line-strong');
  context.lineWidth = 1.2;
  context.stroke();
  context.fillStyle = colour('--ink-soft');
  context.font = '700 11px sans-serif';
  context.fillText(`${text.kinds[node.kind]} · ${nameOf(node.author)}`, x + 14, y + 19, width - 24);
  context.fillStyle = colour('--ink');
  context.font = '12.5px sans-serif';
  linesOf(node.text, (words) => context.measureText(words).width <= width - 24).forEach((line, index) => {
    context.fillText(line, x + 14, y + 37 + index * 17, width - 24);
  });
}

/** Words in lines that fit; what does not is cut, and says so. */
export function linesOf(words: string, fits: (line: string) => boolean): string[] {
  const lines: string[] = [];
  for (const word of words.split(' ')) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && fits(longer)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES - 1), `${lines[MOST_LINES - 1]}…`];
}
