import { describe, expect, it } from 'vitest';
import { SseParser } from './sse';

const STREAM = ': beat\n\nid: 1\nevent: message\ndata: {"a":1}\n\ndata: one\r\ndata: two\r\n\r\n: beat\n\ndata:{"b":"é"}\n\n';
const EVENTS = ['{"a":1}', 'one\ntwo', '{"b":"é"}'];

describe('server-sent events', () => {
  it('are read whole', () => {
    expect(new SseParser().feed(STREAM)).toEqual(EVENTS);
  });

  it('are the same wherever the body is cut', () => {
    for (let first = 0; first <= STREAM.length; first += 1) {
      for (const second of [first, Math.min(first + 3, STREAM.length), STREAM.length]) {
        const parser = new SseParser();
        const pieces = [STREAM.slice(0, first), STREAM.slice(first, second), STREAM.slice(second)];
        expect(pieces.flatMap((piece) => parser.feed(piece))).toEqual(EVENTS);
      }
    }
  });

  it('that are not whole are not given', () => {
    expect(new SseParser().feed('data: half')).toEqual([]);
  });
});
