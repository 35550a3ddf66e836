/** Server-sent events from a body that arrives in pieces. */
import type { WireEvent } from './wire';

/** Gives the `data` of each whole event; pieces may end anywhere, even within a line. */
export class SseParser {
  #rest = '';
  #data: string[] = [];

  feed(piece: string): string[] {
    const found: string[] = [];
    const text = this.#rest + piece;
    let start = 0;
    for (let end = text.indexOf('\n', start); end !== -1; end = text.indexOf('\n', start)) {
      this.#line(text.slice(start, text[end - 1] === '\r' ? end - 1 : end), found);
      start = end + 1;
    }
    this.#rest = text.slice(start);
    return found;
  }

  #line(line: string, found: string[]): void {
    if (line === '') {
      if (this.#data.length) found.push(this.#data.join('\n'));
      this.#data = [];
    } else if (line.startsWith('data:')) {
      this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
  }
}

/** The data of a body's events, as they come. Every piece calls `onbeat`. */
export async function* dataOf(body: ReadableStream<Uint8Array>, onbeat: () => void = () => undefined): AsyncGenerator<string> {
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onbeat();
      yield* parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** A body's events, as they come; null for one that cannot be read. Every piece calls `onbeat`. */
export async function* eventsOf(body: ReadableStream<Uint8Array>, onbeat: () => void): AsyncGenerator<WireEvent | null> {
  for await (const data of dataOf(body, onbeat)) yield eventOf(data);
}

/** What every event has; its data are checked where they are read. */
function eventOf(data: string): WireEvent | null {
  try {
    const event = JSON.parse(data) as Partial<WireEvent> | null;
    const isWhole =
      typeof event?.seq === 'number' &&
      typeof event.event_id === 'string' &&
      typeof event.method === 'string' &&
      Array.isArray(event.params?.namespace);
    return isWhole ? (event as WireEvent) : null;
  } catch {
    return null;
  }
}
