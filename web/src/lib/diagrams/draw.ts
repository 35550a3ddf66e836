/**
 * Diagrams as pictures: Mermaid draws in a frame without an origin, and the app shows the result as an image.
 *
 * Mermaid writes styles that the policy of the app refuses; the frame has a policy of its own. It reaches no
 * network, so the app hands it the program. In an image no script runs, no link leads anywhere and nothing is
 * fetched, whatever the drawing says.
 */
import address from 'mermaid/dist/mermaid.min.js?url';
import type { Drawing, Order } from './protocol';
import { MOST_CHARACTERS, settingsOf } from './settings';

export interface Picture {
  url: string;
  width: number;
  height: number;
}

const PAGE = '/diagram.html';
const NAME = 'diagram-frame';
const PATIENCE_MS = 10_000;
const MOST_SVG = 2_000_000;
const LARGEST = 8_000;
/** Nothing of this belongs in a drawing; words in labels are escaped. */
const ACTIVE = /<(?:script|foreignObject|iframe|image|img)[\s>]|\son[a-z]+="/i;
const LINK = /<(\/?)a(?=[\s>])/g;
const ADDRESS = / (?:xlink:)?href="(?!#)[^"]*"/g;
const VIEW = /viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/;

let frame: Promise<HTMLIFrameElement> | null = null;
const waiting = new Map<number, (drawing: Drawing) => void>();
let orders = 0;

/** Draws a diagram; null where that is not possible. The caller revokes the picture's address. */
export async function draw(code: string, isDark: boolean): Promise<Picture | null> {
  if (code.trim() === '' || code.length > MOST_CHARACTERS) return null;
  try {
    const { svg } = await ask(await (frame ??= open()), { code, settings: settingsOf(isDark) });
    const picture = svg ? pictureOf(svg) : null;
    return picture && (await isReadable(picture)) ? picture : null;
  } catch {
    close(); // it is busy for too long, or could not be loaded: the next diagram gets a new one
    return null;
  }
}

/** The drawing as an image of its own size. */
export function pictureOf(svg: string): Picture | null {
  const head = svg.slice(0, svg.indexOf('>') + 1);
  const [, width, height] = VIEW.exec(head)?.map(Number) ?? [];
  if (!head.startsWith('<svg') || svg.length > MOST_SVG || ACTIVE.test(svg) || !width || !height) return null;
  const size = { width: Math.min(Math.ceil(width), LARGEST), height: Math.min(Math.ceil(height), LARGEST) };
  const sized = head.replace(/ (?:width|height)="[^"]*"/g, '').replace('<svg', `<svg width="${size.width}" height="${size.height}"`);
  const body = svg.slice(head.length).replace(LINK, '<$1g').replace(ADDRESS, ''); // a group instead: it leads nowhere
  return { url: URL.createObjectURL(new Blob([sized, body], { type: 'image/svg+xml' })), ...size };
}

/** Mermaid writes HTML, which is not always an image. */
async function isReadable({ url }: Picture): Promise<boolean> {
  const image = new Image();
  image.src = url;
  return image.decode().then(
    () => true,
    () => {
      URL.revokeObjectURL(url);
      return false;
    },
  );
}

async function open(): Promise<HTMLIFrameElement> {
  const made = document.createElement('iframe');
  made.sandbox.add('allow-scripts');
  made.className = NAME;
  made.tabIndex = -1;
  made.setAttribute('aria-hidden', 'true');
  addEventListener('message', receive);
  const program = fetch(address).then((file) => file.text());
  program.catch(() => undefined); // it is awaited below
  await answerTo(0, () => {
    made.src = PAGE;
    document.body.append(made);
  });
  await ask(made, { program: await program });
  return made;
}

function close(): void {
  frame = null;
  removeEventListener('message', receive);
  document.querySelector(`.${NAME}`)?.remove();
}

function ask(made: HTMLIFrameElement, order: Omit<Order, 'id'>): Promise<Drawing> {
  const id = (orders += 1);
  // To whoever is in the frame: its origin is nobody's, so it has no name.
  return answerTo(id, () => made.contentWindow?.postMessage({ ...order, id } satisfies Order, '*'));
}

function receive({ data, source }: MessageEvent<Drawing>): void {
  const made = document.querySelector<HTMLIFrameElement>(`.${NAME}`);
  if (made && source === made.contentWindow) waiting.get(data.id)?.(data);
}

function answerTo(id: number, send: () => void): Promise<Drawing> {
  return new Promise<Drawing>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('the frame does not answer')), PATIENCE_MS);
    waiting.set(id, (drawing) => {
      clearTimeout(late);
      resolve(drawing);
    });
    send();
  }).finally(() => waiting.delete(id));
}
